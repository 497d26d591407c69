"""Fits what is learned on test questions, with cross-validation, and writes it with its provenance.

Today that is the confidence and its threshold. The examples it was fitted on are written beside it, so that anybody can
repeat the fit without the indexes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from qa_bot.answer import as_turns
from qa_bot.confidence import EXAMPLES, FEATURES, PARAMETERS, signals
from qa_bot.conversation import standalone_question
from qa_bot.errors import EvaluationError
from qa_bot.evaluate.questions import QuestionSet
from qa_bot.routing import route
from vectorstore import Embedder, PaperIndex

NEEDLESS = 0.05
"""Share of answerable questions that the threshold may refuse, on cross-validated probabilities."""


@dataclass(frozen=True, slots=True)
class Source:
    """A question set and the folder of the index that it is asked against."""

    index: Path
    questions: QuestionSet


@dataclass(frozen=True, slots=True)
class Example:
    """The signals of one question's search, in the order of :data:`FEATURES`, and whether the question is answerable."""

    set: str
    id: str
    answerable: bool
    signals: tuple[float, ...]


def gather(sources: Sequence[Source], *, embedding_model: str | None = None, progress: Callable[[int, int], None] | None = None) -> list[Example]:
    """Search every question of the sets and collect its signals.

    Questions whose paper is there but lacks the detail (unanswerable with a paper in ``also_ok``), counts and small talk are
    left out: retrieval alone can't tell the first apart, and the others aren't answered from it.
    """
    examples = []
    done, total = 0, sum(len(source.questions) for source in sources)
    embedder = Embedder(embedding_model) if embedding_model else Embedder()
    for source in sources:
        with PaperIndex(source.index, embedder) as index:
            for question in source.questions:
                near_miss = not question.answerable and question.also_ok
                if not (near_miss or question.type == "count" or route(question.question).route in ("blank", "greeting", "thanks")):
                    found = index.search(standalone_question(question.question, as_turns(question.messages())))
                    if found.hits:
                        values = signals(found)
                        examples.append(Example(source.questions.name, question.id, question.answerable, tuple(round(values[name], 5) for name in FEATURES)))
                done += 1
                if progress:
                    progress(done, total)
    return examples


def fit_confidence(examples: Sequence[Example], sources: Sequence[Source] = (), *, folds: int = 10, seed: int = 0) -> dict[str, Any]:
    """Parameters and provenance: a logistic regression, and the threshold that refuses :data:`NEEDLESS` of the answerable.

    Probabilities are held out by stratified ``folds``. The threshold is a quantile of those of the answerable questions, so the
    needless refusals reported are that share by construction; the AUC and the unanswerable refused are held out. The same
    examples, folds and seed give the same parameters.

    Raises:
        EvaluationError: too few answerable or unanswerable questions for the folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.array([example.signals for example in examples], dtype=float)
    answerable = np.array([example.answerable for example in examples], dtype=bool)
    if min(answerable.sum(), (~answerable).sum()) < folds:
        raise EvaluationError(
            f"{answerable.sum()} answerable and {(~answerable).sum()} unanswerable questions are too few for {folds} folds; add questions or set --folds"
        )
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    held_out = cross_val_predict(model, rows, answerable, cv=splits, method="predict_proba")[:, 1]
    threshold = float(np.quantile(held_out[answerable], NEEDLESS))
    model.fit(rows, answerable)
    scaler, regression = model[0], model[1]
    weights = regression.coef_[0] / scaler.scale_
    refused = held_out < threshold
    return {
        "intercept": round(float(regression.intercept_[0] - weights @ scaler.mean_), 6),
        "weights": {name: round(float(weight), 6) for name, weight in zip(FEATURES, weights, strict=True)},
        "threshold": round(threshold, 6),
        "provenance": {
            "command": "qa-bot fit",
            "date": date.today().isoformat(),
            "method": "logistic regression on standardised signals, C=1; threshold: quantile of the answerable questions' held-out probabilities",
            "folds": folds,
            "seed": seed,
            "needless": NEEDLESS,
            "questions": {"answerable": int(answerable.sum()), "unanswerable": int((~answerable).sum())},
            "held_out": {
                "auc": round(float(roc_auc_score(answerable, held_out)), 4),
                "unanswerable_refused": round(float(refused[~answerable].mean()), 4),
                "needless_refusals": round(float(refused[answerable].mean()), 4),
            },
            "left_out": "questions whose paper is in the index but lacks the detail, counts and small talk",
            "question_sets": [{"name": s.questions.name, "sha256": s.questions.sha256, "papers": _papers(s.index)} for s in sources],
            "examples_sha256": hashlib.sha256(_lines(examples).encode()).hexdigest(),
        },
    }


def write(fitted: Mapping[str, Any], examples: Sequence[Example], folder: Path) -> None:
    """Write parameters and examples into ``folder``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / EXAMPLES).write_text(_lines(examples), "utf-8")
        (folder / PARAMETERS).write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise EvaluationError(f"{folder}: can't be written ({error.strerror}); name another folder with --out") from None


def read_examples(text: str) -> list[Example]:
    """The examples that :func:`write` wrote."""
    rows = [json.loads(line) for line in text.splitlines()]
    return [Example(row["set"], row["id"], row["answerable"], tuple(row["signals"])) for row in rows]


def _lines(examples: Sequence[Example]) -> str:
    return "".join(json.dumps({"set": e.set, "id": e.id, "answerable": e.answerable, "signals": e.signals}) + "\n" for e in examples)


def _papers(folder: Path) -> int:
    return int(json.loads((folder / "manifest.json").read_text("utf-8"))["papers"])
