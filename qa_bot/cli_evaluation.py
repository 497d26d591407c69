"""The commands ``eval``, ``questions`` and ``fit``; heavy modules are imported inside them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from qa_bot.evaluate import Question, QuestionSet
    from vectorstore import PaperIndex

app = typer.Typer()
questions_app = typer.Typer(no_args_is_help=True, help="Check question sets, and draft them from feedback.")
app.add_typer(questions_app, name="questions")

IndexOption = Annotated[Path | None, typer.Option("--index", help="Folder of the index [default: QA_BOT_INDEX, else a per-user folder].")]
SetArgument = Annotated[str, typer.Argument(metavar="QUESTIONS", help="JSON Lines or CSV file, or the name of a bundled set.")]


@app.command("eval")
def evaluate_answers(
    questions: SetArgument = "seeds-dev",
    json_out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the report as JSON; - for standard output.")] = None,
    html_out: Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write the report as one HTML page.")] = None,
    compare: Annotated[Path | None, typer.Option(metavar="REPORT.json", help="Show paired differences to an earlier report.")] = None,
    fail_under: Annotated[list[str] | None, typer.Option(metavar="METRIC=VALUE", help="Fail if the metric is worse; SLICE.METRIC=VALUE too.")] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="Fail if a metric is worse than in this stored run.")] = None,
    tolerance: Annotated[float, typer.Option(min=0, max=1, help="How much worse than the stored run is let pass; one question always is.")] = 0.01,
    update_baseline: Annotated[bool, typer.Option("--update-baseline", help="Store this run in the --baseline FILE instead.")] = False,
    types: Annotated[str, typer.Option(metavar="TYPE,…", help="Only questions of these types.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many questions, spread evenly over the set.")] = None,
    baselines: Annotated[str, typer.Option(metavar="NAME,…", help="Engines to compare with: keyword, dense, langchain; all or none.")] = "all",
    suites: Annotated[str, typer.Option(metavar="NAME,…", help="Stress suites to run; all or none.")] = "all",
    jobs: Annotated[int, typer.Option(min=1, help="Questions asked at once.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of intervals and suites.")] = 0,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep answers in FILE; run again to go on where it was.")] = None,
    index: IndexOption = None,
) -> None:
    """Score the answers against test questions, beside baselines and under stress, with 95 % intervals."""
    from qa_bot.bot import PaperBot
    from qa_bot.errors import EvaluationError
    from qa_bot.evaluate import BASELINES, SUITES, evaluate
    from qa_bot.evaluate.comparison import brief, check_limits, read_report, regressions, shortfalls
    from qa_bot.evaluate.comparison import compare as compared
    from qa_bot.evaluate.terminal import show_comparison, show_report, stages
    from qa_bot.settings import load_settings
    from qa_bot.terminal import progress, say

    if update_baseline and baseline is None:
        raise EvaluationError("--update-baseline needs --baseline FILE, the file to write")
    other = read_report(compare) if compare else None
    stored = read_report(baseline) if baseline and not update_baseline else None
    asked = _chosen(_question_set(questions), types, limit)
    check_limits(fail_under or [])
    if other and not {entry["id"] for entry in other["questions"]} & {question.id for question in asked}:
        raise EvaluationError(f"{compare}: has no question in common with {asked.name}")
    if str(html_out) == "-":
        raise EvaluationError("--html - : the page goes to a file; name one")
    for file in (json_out, html_out, baseline if update_baseline else None):
        _must_be_writable(file)
    settings = load_settings()
    with progress("Building the index") as update:
        bot = PaperBot.open(index, settings=settings, progress=update)
    _must_fit(asked, bot.index)
    try:
        with stages() as note:
            report = evaluate(
                bot,
                asked,
                baselines=_names(baselines, BASELINES),
                suites=_names(suites, SUITES),
                seed=seed,
                jobs=jobs,
                journal=resume,
                cache=settings.cache,
                progress=note,
            ).to_dict()
    except KeyboardInterrupt:
        say("qa-bot: interrupted; " + (f"the same command goes on from {resume}" if resume else "with --resume FILE a run can go on where it was"))
        raise typer.Exit(130) from None
    comparison = compared(report, other) if other else None
    written = json.dumps(report if comparison is None else {**report, "comparison": comparison}, ensure_ascii=False, indent=1)
    if str(json_out) == "-":
        print(written)
    else:
        show_report(report)
        if comparison:
            show_comparison(comparison)
        _write(json_out, written + "\n")
    if html_out is not None:
        from qa_bot.evaluate.page import render

        _write(html_out, render(report, comparison))
    broken = [f"below the limit: {line}" for line in shortfalls(report, fail_under or [])]
    broken += [f"worse than {baseline}: {line}" for line in regressions(report, stored, tolerance)] if stored else []
    if len(report["errors"]) == report["n"]:
        broken.append(f"the engine failed on all {report['n']} questions, first with {report['errors'][0]['error']}")
    if update_baseline:
        _write(baseline, json.dumps(brief(report), ensure_ascii=False).replace('{"id"', '\n{"id"') + "\n")
    for line in broken:
        say(f"qa-bot: {line}")
    if broken:
        raise typer.Exit(1)


@questions_app.command("check")
def check_questions(questions: SetArgument, index: IndexOption = None) -> None:
    """Check a question set against an index: ids exist, key facts stand in their papers, nothing is asked twice."""
    from qa_bot.evaluate.verification import problems
    from qa_bot.settings import load_settings
    from qa_bot.terminal import say
    from vectorstore import Embedder, PaperIndex

    asked = _question_set(questions, drafts=True)
    settings = load_settings()
    with PaperIndex((index or settings.index).expanduser(), Embedder(settings.embedding_model)) as opened:
        found = list(problems(asked, opened))
    for line in found:
        say(f"qa-bot: {line}")
    print(f"{len(asked)} questions, {len(found)} problems")
    if found:
        raise typer.Exit(1)


@questions_app.command("from-feedback")
def draft_questions(
    feedback: Annotated[Path, typer.Argument(metavar="FEEDBACK.jsonl")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the drafts there [default: standard output].")] = None,
) -> None:
    """Draft questions from the web chat's thumbs; each draft says in its todo what a person must settle."""
    from qa_bot.evaluate.feedback import drafts, load_feedback, write_questions
    from qa_bot.terminal import say

    found = drafts(load_feedback(feedback))
    if out is None:
        sys.stdout.write(write_questions(found))
    else:
        _write(out, write_questions(found))
    say(f"{len(found)} drafts; settle each todo, then run: qa-bot questions check {out or 'FILE'}")


@app.command()
def fit(
    questions: Annotated[
        list[str],
        typer.Argument(
            metavar="[sentences] [INDEX=]QUESTIONS…",
            help="Question sets for the confidence, each for the index in front of it or the default one; after the word sentences, "
            "one file of questions with their evidence, for sentence selection.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the parameters go; use them with QA_BOT_LEARNED=FOLDER.")] = Path("learned"),
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the folds.")] = 0,
    index: IndexOption = None,
) -> None:
    """Refit what is learned, with cross-validation, and write it with its provenance."""
    from qa_bot.settings import load_settings

    settings = load_settings()
    folder = (index or settings.index).expanduser()
    _must_be_writable(out / "parameters")
    if questions[0] == "sentences":
        fitted = _fit_sentences(questions[1:], folder, settings.embedding_model, out, folds)
    else:
        fitted = _fit_confidence(questions, folder, settings.embedding_model, out, folds, seed)
    print(json.dumps(fitted["provenance"]["held_out"], indent=1))
    print(f"written to {out}; use it with QA_BOT_LEARNED={out}")


def _fit_confidence(sets: Sequence[str], default: Path, model: str, out: Path, folds: int, seed: int) -> dict[str, Any]:
    from qa_bot.learned.fitting import Source, fit_confidence, gather, write
    from qa_bot.terminal import progress

    sources = []
    for entry in sets:
        folder, equals, name = entry.rpartition("=")
        sources.append(Source(Path(folder).expanduser() if equals else default, _question_set(name)))
    with progress("Searching", "questions") as update:
        examples = gather(sources, embedding_model=model, progress=update)
    fitted = fit_confidence(examples, sources, folds=folds, seed=seed)
    write(fitted, examples, out)
    return fitted


def _fit_sentences(files: Sequence[str], default: Path, model: str, out: Path, folds: int) -> dict[str, Any]:
    from qa_bot.errors import QuestionSetError
    from qa_bot.learned.evidence import load_evidence
    from qa_bot.learned.sentence_fitting import fit_selection, gather_sentences, write_selection
    from qa_bot.terminal import progress
    from vectorstore import Embedder, PaperIndex

    if len(files) != 1:
        raise QuestionSetError("qa-bot fit sentences takes one file of questions with evidence")
    source = Path(files[0]).expanduser()
    evidence = load_evidence(source)
    with PaperIndex(default, Embedder(model)) as opened, progress("Searching", "questions") as update:
        sentences = gather_sentences(evidence, opened, progress=update)
        papers = opened.count()
    fitted = fit_selection(sentences, folds=folds)
    write_selection(fitted, sentences, source, papers, out)
    return fitted


def _question_set(name: str, *, drafts: bool = False) -> QuestionSet:
    from qa_bot.evaluate import bundled_names, bundled_questions, load_questions

    return bundled_questions(name) if name in bundled_names() and not Path(name).exists() else load_questions(Path(name).expanduser(), drafts=drafts)


def _chosen(questions: QuestionSet, types: str, limit: int | None) -> QuestionSet:
    from qa_bot.errors import QuestionSetError
    from qa_bot.evaluate import QuestionSet

    chosen: Sequence[Question] = questions
    if types:
        wanted = {name.strip() for name in types.split(",") if name.strip()}
        known = sorted({question.type for question in questions})
        if unknown := sorted(wanted - set(known)):
            raise QuestionSetError(f"--types {unknown[0]}: {questions.name} has no such questions; its types are {', '.join(known)}")
        chosen = [question for question in chosen if question.type in wanted]
    if limit is not None and limit < len(chosen):
        chosen = [chosen[at * len(chosen) // limit] for at in range(limit)]
    return QuestionSet.of(chosen, questions.name, questions.sha256)


def _must_fit(questions: Sequence[Question], index: PaperIndex) -> None:
    from qa_bot.errors import QuestionSetError
    from qa_bot.terminal import say

    gold = {paper for question in questions for paper in question.papers}
    missing = sorted(gold - index.get(sorted(gold)).keys())
    if missing and len(missing) == len(gold):
        raise QuestionSetError(f"none of the {len(gold)} gold papers is in the index {index.folder}; the set belongs to another index")
    if missing:
        say(f"qa-bot: {len(missing)} of {len(gold)} gold papers are not in the index, {missing[0]!r} first; questions on them can't be answered")


def _names(text: str, known: Sequence[str]) -> tuple[str, ...]:
    if text.strip() in ("all", "none"):
        return tuple(known) if text.strip() == "all" else ()
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _must_be_writable(file: Path | None) -> None:
    """Find out before the work is done that its result can't be written."""
    from qa_bot.errors import EvaluationError

    if file is None or str(file) == "-":
        return
    try:
        if file.is_dir():
            raise IsADirectoryError(21, "is a folder")
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise EvaluationError(f"{file}: can't be written ({error.strerror}); name another place") from None


def _write(file: Path | None, text: str) -> None:
    from qa_bot.errors import EvaluationError

    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise EvaluationError(f"{file}: can't be written ({error.strerror}); name another place") from None


__all__: list[Any] = ["app"]
