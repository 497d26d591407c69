"""Asks an engine, the baselines and the stress suites, and scores what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qa_bot.answer import Turn, as_turns
from qa_bot.errors import EvaluationError, QuestionSetError
from qa_bot.evaluate.baselines import BASELINES, baseline
from qa_bot.evaluate.engines import Adjustable, Engine
from qa_bot.evaluate.journal import Asked, Journal
from qa_bot.evaluate.questions import Question, QuestionSet
from qa_bot.evaluate.report import Report, Run, Scored, Trial
from qa_bot.evaluate.scoring import failure, faults, score
from qa_bot.evaluate.suites import SUITES, Bench, trials
from vectorstore import Paper, PaperIndex

Progress = Callable[[str, int, int], None]
"""Called with what is being done, and how many steps of it are done and to do."""

Request = tuple[str, Sequence[Turn]]


def evaluate(
    bot: Engine,
    questions: Iterable[Question],
    *,
    baselines: Sequence[str] = BASELINES,
    suites: Sequence[str] = SUITES,
    seed: int = 0,
    jobs: int = 1,
    journal: Path | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Ask and score every question; the same but for times, given the same engine, index, questions and seed.

    Args:
        bot: the engine; any object with ``engine``, ``index``, ``ask`` and ``warm``. It is warmed first, so latencies are warm.
        questions: the set, one or more.
        baselines: engines to compare with, of :data:`BASELINES`.
        suites: stress suites, of :data:`SUITES`; those that need other indexes are left out for an engine without ``over``.
        seed: of the bootstrap and of what the suites draw.
        jobs: questions asked at once; more than 1 helps engines that wait for a server, and makes latencies longer.
        journal: file that keeps each answer; an interrupted run with the same file goes on where it was.
        cache: folder for the baselines' vectors, so that they are computed once for an index.
        progress: see :data:`Progress`.

    Raises:
        QuestionSetError: no questions.
        EvaluationError: an unknown baseline or suite, or a journal that can't be used.

    Example:
        >>> report = evaluate(PaperBot.open(), bundled_questions(), baselines=(), suites=())
        >>> report.metrics["hit@1"].value > 0.95
        True
    """
    asked = tuple(questions)
    if not asked:
        raise QuestionSetError("there are no questions to ask; check the file, --types and --limit")
    _must_be_known("baseline", baselines, BASELINES)
    _must_be_known("stress suite", suites, SUITES)
    note = progress or (lambda stage, done, total: None)
    bot.warm()
    kept = Journal(_identity(bot, seed), journal)
    main = _run(bot, asked, kept, jobs=jobs, seed=seed, label=bot.engine, progress=note)
    rivals = {}
    for name in baselines:
        engine = baseline(name, bot.index, cache=cache, progress=note)
        rivals[name] = _run(engine, asked, kept, jobs=jobs, seed=seed, label=name, progress=note)
    stressed: tuple[Trial, ...] = ()
    if suites:
        stressed = tuple(trials(Bench(bot, kept, asked, seed), suites, progress=note))
    named = {paper for question in asked for paper in (*question.papers, *question.also_ok)}
    manifest = bot.index.manifest
    return Report(
        bot.engine,
        {"papers": manifest.papers, "passages": manifest.passages, "model": manifest.model, "generation": manifest.generation},
        main,
        rivals,
        stressed,
        _described(questions, asked),
        {paper.id: paper.title for paper in bot.index.get(sorted(named)).values()},
        datetime.now(UTC).isoformat(timespec="seconds"),
        jobs,
    )


def _run(engine: Engine, questions: Sequence[Question], kept: Journal, *, jobs: int, seed: int, label: str, progress: Progress) -> Run:
    requests = [(question.question, as_turns(question.messages())) for question in questions]
    answered = list(_all(engine, requests, kept, jobs=jobs, label=label, progress=progress))
    forced: dict[int, Asked] = {}
    if isinstance(engine, Adjustable):
        refused = [at for at, asked in enumerate(answered) if asked.answer and asked.answer.abstained and questions[at].answerable]
        willing = engine.over(engine.index, min_confidence=0.0)
        forced = dict(zip(refused, _all(willing, [requests[at] for at in refused], kept, jobs=jobs, label=f"{label}, forced"), strict=True))
    papers = _cited(engine.index, [*answered, *forced.values()])
    return Run(tuple(_scored(question, asked, papers, forced.get(at)) for at, (question, asked) in enumerate(zip(questions, answered, strict=True))), seed)


def _all(engine: Engine, requests: Sequence[Request], kept: Journal, *, jobs: int, label: str, progress: Progress | None = None) -> Iterator[Asked]:
    def ask(request: Request) -> Asked:
        return kept.ask(engine, *request, label=label)

    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(ask, requests) if jobs > 1 else map(ask, requests)
        for done, asked in enumerate(results, start=1):
            if progress:
                progress(f"Asking {label}", done, len(requests))
            yield asked


def _scored(question: Question, asked: Asked, papers: dict[str, Paper], forced: Asked | None) -> Scored:
    if asked.answer is None:
        return Scored(question, None, failure(question), asked.seconds, (f"the engine failed: {asked.error}",), asked.error)
    scores = score(question, asked.answer, papers)
    wrong = tuple(faults(question, asked.answer, scores, papers))
    return Scored(question, asked.answer, scores, asked.seconds, wrong, forced=forced.answer if forced else None)


def _cited(index: PaperIndex, answered: Sequence[Asked]) -> dict[str, Paper]:
    return index.get(sorted({citation.paper_id for asked in answered if asked.answer for citation in asked.answer.citations}))


def _identity(bot: Engine, seed: int) -> dict[str, Any]:
    manifest = bot.index.manifest
    return {
        "engine": bot.engine,
        "version": version("qa-bot"),
        **getattr(bot, "identity", {}),
        "papers": manifest.papers,
        "passages": manifest.passages,
        "generation": manifest.generation,
        "weights_sha256": manifest.weights_sha256,
        "seed": seed,
    }


def _must_be_known(kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise EvaluationError(f"{name!r} is no {kind}; there are {', '.join(known)}")


def _described(questions: Iterable[Question], asked: Sequence[Question]) -> dict[str, Any]:
    named = questions if isinstance(questions, QuestionSet) else QuestionSet.of(asked, "questions")
    return {"name": named.name, "sha256": named.sha256, "n": len(asked)}
