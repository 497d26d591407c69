"""Asks the bot every question of a set and scores the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qa_bot.answer import Answer
from qa_bot.bot import PaperBot
from qa_bot.evaluate import metrics
from qa_bot.evaluate.questions import Question

Value = tuple[float, int]

METRICS = (
    "hit@1",
    "recall@5",
    "mrr",
    "citation_precision",
    "citation_recall",
    "key_fact_recall",
    "quote_exactness",
    "refusal_recall",
    "needless_refusals",
)


@dataclass(frozen=True, slots=True)
class Scored:
    """One question with its answer, the scores that apply to it, and the seconds it took."""

    question: Question
    answer: Answer
    scores: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """Result of an evaluation. A metric is its mean over the questions that it applies to, with their number."""

    engine: str
    index: Mapping[str, Any]
    scored: tuple[Scored, ...]

    @property
    def metrics(self) -> dict[str, Value]:
        """All metrics over all questions."""
        return summary(self.scored)

    @property
    def by_type(self) -> dict[str, dict[str, Value]]:
        """The metrics by type of question, types sorted."""
        types = sorted({entry.question.type for entry in self.scored})
        return {kind: summary([entry for entry in self.scored if entry.question.type == kind]) for kind in types}

    @property
    def slices(self) -> dict[str, dict[str, Value]]:
        """The metrics over cuts across types; ``single-paper`` are the questions that one paper answers."""
        return {"single-paper": summary([entry for entry in self.scored if len(entry.question.papers) == 1])}

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        milliseconds = [entry.seconds * 1000 for entry in self.scored]
        return {
            "n": len(self.scored),
            "engine": self.engine,
            "index": dict(self.index),
            "metrics": _shown(self.metrics),
            "by_type": {kind: _shown(values) for kind, values in self.by_type.items()},
            "slices": {name: _shown(values) for name, values in self.slices.items()},
            "latency_ms": {name: round(metrics.percentile(milliseconds, share), 2) for name, share in (("p50", 0.5), ("p95", 0.95))},
            "questions": [_question_entry(entry) for entry in self.scored],
        }


def evaluate(bot: PaperBot, questions: Iterable[Question], *, progress: Callable[[], None] | None = None) -> Report:
    """Ask and score each question; the model is loaded before the first, so latencies are warm.

    ``progress`` is called after each question.
    """
    bot.warm()
    scored = []
    for question in questions:
        started = time.perf_counter()
        answer = bot.ask(question.question, history=question.messages())
        seconds = time.perf_counter() - started
        scored.append(Scored(question, answer, score(question, answer, bot), seconds))
        if progress:
            progress()
    manifest = bot.index.manifest
    index = {"papers": manifest.papers, "passages": manifest.passages, "model": manifest.model, "generation": manifest.generation}
    return Report("extractive", index, tuple(scored))


def score(question: Question, answer: Answer, bot: PaperBot) -> dict[str, float]:
    """The metrics that apply to one answer; the others are left out.

    Ranking and citation recall apply to answerable questions; citation precision wherever papers are cited; key facts to
    answerable questions that list some (looked for in the sentences, not in the titles cited; a refusal holds none); quotes wherever there are some; ``refusal_recall`` to
    unanswerable questions, ``needless_refusals`` (smaller is better) to answerable ones.
    """
    ranked = [hit.paper_id for hit in answer.retrieved]
    cited = [citation.paper_id for citation in answer.citations]
    acceptable = {*question.papers, *question.also_ok}
    scores: dict[str, float] = {}
    if question.answerable:
        scores["hit@1"] = metrics.hit_at(1, ranked, acceptable)
        scores["recall@5"] = metrics.recall_at(5, ranked, question.papers)
        scores["mrr"] = metrics.reciprocal_rank(ranked, question.papers)
        scores["citation_recall"] = metrics.citation_recall(cited, question.papers)
        scores["needless_refusals"] = float(answer.abstained)
        if question.key_facts:
            scores["key_fact_recall"] = metrics.key_fact_recall(" ".join(sentence.text for sentence in answer.sentences), question.key_facts)
    else:
        scores["refusal_recall"] = float(answer.abstained)
    if cited:
        scores["citation_precision"] = metrics.citation_precision(cited, acceptable)
    if quoted := [citation for citation in answer.citations if citation.quotes]:
        papers = bot.index.get([citation.paper_id for citation in quoted])
        exact = [
            metrics.quote_exactness([(quote.text, quote.start, quote.end)], papers[citation.paper_id].abstract if citation.paper_id in papers else "")
            for citation in quoted
            for quote in citation.quotes
        ]
        scores["quote_exactness"] = sum(exact) / len(exact)
    return scores


def summary(scored: Sequence[Scored]) -> dict[str, Value]:
    """Mean and number of questions of every metric that applies to any of them."""
    values = {name: [entry.scores[name] for entry in scored if name in entry.scores] for name in METRICS}
    return {name: (sum(found) / len(found), len(found)) for name, found in values.items() if found}


def _shown(values: Mapping[str, Value]) -> dict[str, dict[str, float | int]]:
    return {name: {"value": round(value, 4), "n": n} for name, (value, n) in values.items()}


def _question_entry(entry: Scored) -> dict[str, Any]:
    answer = entry.answer
    return {
        "id": entry.question.id,
        "type": entry.question.type,
        "question": entry.question.question,
        "abstained": answer.abstained,
        "cited": [citation.paper_id for citation in answer.citations],
        "retrieved": [hit.paper_id for hit in answer.retrieved],
        "key_fact_recall": entry.scores.get("key_fact_recall"),
        "confidence": answer.confidence,
        "route": answer.route,
        "text": answer.text,
    }
