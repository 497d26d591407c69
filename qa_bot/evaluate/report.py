"""The result of an evaluation: every question with its scores, summaries with intervals, curves, and all of it as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_bot.answer import Answer
from qa_bot.evaluate import metrics, statistics
from qa_bot.evaluate.facts import held
from qa_bot.evaluate.questions import Question
from qa_bot.evaluate.scoring import METRICS, is_right, outcome, score, stated
from qa_bot.evaluate.statistics import Estimate

VERSION = 2
"""Of the JSON report."""

Summary = dict[str, Estimate]

_LATENCY_POINTS = 100


@dataclass(frozen=True, slots=True)
class Scored:
    """One question with its answer (None if the engine failed), the scores that apply, what is wrong, and the seconds it took.

    ``forced`` is what the engine says with refusing switched off, where it refused and can be made to answer.
    """

    question: Question
    answer: Answer | None
    scores: Mapping[str, float]
    seconds: float
    faults: tuple[str, ...] = ()
    error: str = ""
    forced: Answer | None = None

    @property
    def ranked(self) -> list[str]:
        """Ids of the papers retrieved, best first; none where the engine failed."""
        return metrics.ranking({hit.paper_id: hit.score for hit in self.answer.retrieved}) if self.answer else []

    @property
    def confidence(self) -> float:
        """The engine's confidence, 0 to 1; 0 where it failed."""
        return self.answer.confidence if self.answer else 0.0

    @property
    def wrong(self) -> float:
        """1 if answering is wrong, 0 if it is fully right; answering an unanswerable question always is wrong.

        For a refusal it is the forced answer that counts; without one, the question counts as wrong.
        """
        if self.answer is None or not self.question.answerable:
            return 1.0
        if not self.answer.abstained:
            return 1.0 - self.scores["accuracy"]
        return 1.0 - float(self.forced is not None and is_right(score(self.question, self.forced, {})))


@dataclass(frozen=True, slots=True)
class Trial:
    """One case of a stress suite. It is passed if nothing is wrong."""

    suite: str
    id: str
    question: str
    scores: Mapping[str, float]
    faults: tuple[str, ...]
    text: str

    @property
    def passed(self) -> bool:
        """Whether the engine stood the case."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class Run:
    """One engine's answers to the whole set."""

    scored: tuple[Scored, ...]
    seed: int = 0

    @property
    def metrics(self) -> Summary:
        """All metrics over all questions, with intervals."""
        return summary([{"errors": 0.0, **entry.scores} for entry in self.scored], self.seed) | self._selective()

    def curves(self) -> dict[str, list[dict[str, float]]]:
        """Risk against coverage, recall@1 to @10, and the share of questions answered within so many milliseconds."""
        asked = [entry for entry in self.scored if entry.question.answerable]
        recalls = [metrics.recall_curve(10, entry.ranked, entry.question.papers) for entry in asked]
        recall = [{"k": k, "recall": round(float(value), 4)} for k, value in enumerate(np.mean(recalls, axis=0), start=1)] if asked else []
        risks = statistics.risk_coverage(*self._by_confidence())
        ms = [entry.seconds * 1000 for entry in self.scored]
        points = min(len(ms), _LATENCY_POINTS)
        return {
            "risk_coverage": [{"coverage": round(at / len(risks), 4), "risk": round(float(risk), 4)} for at, risk in enumerate(risks, start=1)],
            "recall_at_k": recall,
            "latency_ms": [{"share": round(at / points, 4), "ms": round(statistics.percentile(ms, at / points), 2)} for at in range(1, points + 1)],
        }

    def latency(self) -> dict[str, float]:
        """Milliseconds an answer took: p50, p95, p99."""
        ms = [entry.seconds * 1000 for entry in self.scored]
        return {f"p{share}": round(statistics.percentile(ms, share / 100), 2) for share in (50, 95, 99)}

    def tokens(self) -> dict[str, int]:
        """Tokens that a language model read and wrote for all answers; empty without one."""
        used: dict[str, int] = {}
        for entry in self.scored:
            for name, number in (entry.answer.usage if entry.answer else {}).items():
                used[name] = used.get(name, 0) + number
        return used

    def _selective(self) -> Summary:
        confidence, wrong = self._by_confidence()
        answerable = np.array([entry.question.answerable for entry in sorted(self.scored, key=lambda entry: entry.question.id)], dtype=bool)
        n = len(self.scored)

        def risks(positions: NDArray[np.int64]) -> NDArray[np.float64]:
            return statistics.risk_coverage(confidence[positions], wrong[positions])

        found = {
            "accuracy@90": statistics.estimate(lambda positions: statistics.accuracy_at(0.9, risks(positions)), n, self.seed),
            "aurc": statistics.estimate(lambda positions: statistics.aurc(risks(positions)), n, self.seed),
        }
        if answerable.any() and not answerable.all():
            found["refusal_auc"] = statistics.estimate(lambda at: statistics.auc(confidence[at], answerable[at]), n, self.seed)
        return found

    def _by_confidence(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ordered = sorted(self.scored, key=lambda entry: entry.question.id)
        return np.array([entry.confidence for entry in ordered]), np.array([entry.wrong for entry in ordered])


@dataclass(frozen=True, slots=True)
class Report:
    """Result of an evaluation: the engine's own run, the baselines' runs on the same questions, and the stress suites."""

    engine: str
    index: Mapping[str, Any]
    run: Run
    baselines: Mapping[str, Run] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    questions: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    jobs: int = 1

    @property
    def scored(self) -> tuple[Scored, ...]:
        """Every question with its scores."""
        return self.run.scored

    @property
    def metrics(self) -> Summary:
        """All metrics over all questions."""
        return self.run.metrics

    @property
    def by_type(self) -> dict[str, Summary]:
        """The metrics by type of question, types sorted."""
        return {kind: self._over(e for e in self.scored if e.question.type == kind) for kind in sorted({e.question.type for e in self.scored})}

    @property
    def slices(self) -> dict[str, Summary]:
        """The metrics over cuts across types: ``single-paper`` questions, which one paper answers, and each stress suite."""
        cuts = {"single-paper": self._over(e for e in self.scored if len(e.question.papers) == 1)}
        suites = {trial.suite: [other.scores for other in self.trials if other.suite == trial.suite] for trial in self.trials}
        return {name: values for name, values in (cuts | {name: summary(rows, self.run.seed) for name, rows in suites.items()}).items() if values}

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values: the contract of ``qa-bot eval --json``, described in docs/evaluation.md."""
        return {
            "version": VERSION,
            "n": len(self.scored),
            "engine": self.engine,
            "seed": self.run.seed,
            "jobs": self.jobs,
            "date": self.date,
            "set": dict(self.questions),
            "index": dict(self.index),
            "metrics": shown(self.metrics),
            "by_type": {kind: shown(values) for kind, values in self.by_type.items()},
            "slices": {name: shown(values) for name, values in self.slices.items()},
            "latency_ms": self.run.latency(),
            "tokens": self.run.tokens(),
            "curves": self.run.curves(),
            "baselines": {
                name: {"metrics": shown(run.metrics), "latency_ms": run.latency(), "tokens": run.tokens(), "curves": run.curves()}
                for name, run in self.baselines.items()
            },
            "errors": [{"id": entry.question.id, "error": entry.error} for entry in self.scored if entry.error],
            "suites": [{**asdict(trial), "scores": dict(trial.scores), "faults": list(trial.faults), "passed": trial.passed} for trial in self.trials],
            "questions": [self._entry(entry) for entry in self.scored],
        }

    def _over(self, entries: Iterable[Scored]) -> Summary:
        return summary([entry.scores for entry in entries], self.run.seed)

    def _entry(self, entry: Scored) -> dict[str, Any]:
        question, answer = entry.question, entry.answer
        given = answer.to_dict() if answer else {}
        facts = held(stated(answer), question.key_facts) if answer and question.key_facts else [False] * len(question.key_facts)
        return {
            "id": question.id,
            "type": question.type,
            "question": question.question,
            "history": question.messages(),
            "outcome": outcome(question, entry.scores, answer),
            "faults": list(entry.faults),
            "error": entry.error or None,
            "gold": [{"paper_id": paper, "title": self.titles.get(paper, "")} for paper in question.papers],
            "also_ok": [{"paper_id": paper, "title": self.titles.get(paper, "")} for paper in question.also_ok],
            "reference": question.answer,
            "key_facts": [{"forms": list(forms), "held": there} for forms, there in zip(question.key_facts, facts, strict=True)],
            "key_fact_recall": entry.scores.get("key_fact_recall"),
            "scores": {name: round(value, 4) for name, value in entry.scores.items()},
            "ms": round(entry.seconds * 1000, 2),
            "abstained": answer.abstained if answer else False,
            "confidence": entry.confidence,
            "cited": [citation.paper_id for citation in answer.citations] if answer else [],
            "retrieved": [hit.paper_id for hit in answer.retrieved] if answer else [],
            "route": answer.route if answer else None,
            "standalone_question": answer.standalone_question if answer else question.question,
            "text": answer.text if answer else "",
            "sentences": given.get("sentences", ()),
            "citations": given.get("citations", ()),
        }


def summary(rows: Sequence[Mapping[str, float]], seed: int = 0) -> Summary:
    """Mean, number of questions and interval of every metric that applies to any row."""
    values = {name: [row[name] for row in rows if name in row] for name in METRICS}
    return {name: statistics.mean(found, seed) for name, found in values.items() if found}


def shown(values: Summary) -> dict[str, dict[str, float | int]]:
    """A summary as JSON-ready values."""
    return {
        name: {"value": round(found.value, 4), "n": found.n, "ci_low": round(found.ci_low, 4), "ci_high": round(found.ci_high, 4)}
        for name, found in values.items()
    }
