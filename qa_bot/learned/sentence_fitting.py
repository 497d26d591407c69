"""Fits the weights of sentence selection on questions with their evidence sentences, and writes them with their provenance."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_bot.errors import EvaluationError
from qa_bot.learned.evidence import Evidence, best_matches, words
from qa_bot.selection import FEATURES, PARAMETERS, features
from vectorstore import PaperIndex

EXAMPLES = "selection-examples.npz"
PAPERS = 3
"""Best papers whose sentences compete; the right one is among them for 97 % of the training questions."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences with their features, shape ``(n, features)``, whether each is evidence, and the number of their question, shape ``(n,)``."""

    rows: NDArray[np.float16]
    evidence: NDArray[np.bool_]
    question: NDArray[np.int32]


def gather_sentences(questions: Sequence[Evidence], index: PaperIndex, *, progress: Callable[[int, int], None] | None = None) -> Sentences:
    """The sentences of the three best papers for each question with evidence, if its paper is among them."""
    rows, evidence, numbers = [], [], []
    for number, question in enumerate(questions):
        found = index.search(question.question, k=PAPERS)
        if question.evidence and any(hit.paper.id == question.paper for hit in found.hits):
            wanted = [words(text) for text in (*question.evidence, *question.also_evidence)]
            for hit, scored in zip(found.hits, features(question.question, found.hits, found.terms), strict=True):
                marks = best_matches([words(passage.text) for passage, _ in hit.passages], wanted) if hit.paper.id == question.paper else set()
                rows += scored
                evidence += [at in marks for at in range(len(scored))]
                numbers += [number] * len(scored)
        if progress:
            progress(number + 1, len(questions))
    return Sentences(np.array(rows, dtype=np.float16), np.array(evidence, dtype=bool), np.array(numbers, dtype=np.int32))


def fit_selection(sentences: Sentences, *, folds: int = 10) -> dict[str, Any]:
    """Weights and held-out figures: a logistic regression on standardised features, cross-validated with whole questions held out.

    ``evidence_recall@k`` is the share of a question's evidence among its ``k`` best sentences.

    Raises:
        EvaluationError: fewer questions than folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(np.unique(sentences.question)) < folds:
        raise EvaluationError(f"{len(np.unique(sentences.question))} questions with evidence are too few for {folds} folds; add questions or set --folds")
    rows = sentences.rows.astype(float)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=1000))
    held_out = cross_val_predict(model, rows, sentences.evidence, cv=GroupKFold(folds), groups=sentences.question, method="decision_function")
    model.fit(rows, sentences.evidence)
    scaler, regression = model[0], model[1]
    weights = regression.coef_[0] / scaler.scale_
    return {
        "intercept": round(float(regression.intercept_[0] - weights @ scaler.mean_), 6),
        "weights": {name: round(float(weight), 6) for name, weight in zip(FEATURES, weights, strict=True)},
        "provenance": {
            "command": "qa-bot fit sentences",
            "date": date.today().isoformat(),
            "method": f"logistic regression on standardised features, C=1; {folds} folds of whole questions",
            "folds": folds,
            "questions": len(np.unique(sentences.question)),
            "sentences": len(rows),
            "held_out": {f"evidence_recall@{k}": round(_recall(held_out, sentences, k), 4) for k in (1, 2, 3, 4)},
        },
    }


def write_selection(fitted: dict[str, Any], sentences: Sentences, source: Path, papers: int, folder: Path) -> None:
    """Write weights and examples into ``folder``."""
    stream = io.BytesIO()
    np.savez_compressed(stream, rows=sentences.rows, evidence=sentences.evidence, question=sentences.question)
    data = stream.getvalue()
    fitted["provenance"] |= {
        "questions_file": {"name": source.name, "sha256": hashlib.sha256(source.read_bytes()).hexdigest(), "papers": papers},
        "examples_sha256": hashlib.sha256(data).hexdigest(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / EXAMPLES).write_bytes(data)
        (folder / PARAMETERS).write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise EvaluationError(f"{folder}: can't be written ({error.strerror}); name another folder with --out") from None


def read_sentences(data: bytes) -> Sentences:
    """The examples that :func:`write_selection` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return Sentences(arrays["rows"], arrays["evidence"], arrays["question"])


def _recall(scores: NDArray[np.float64], sentences: Sentences, k: int) -> float:
    shares = []
    for number in np.unique(sentences.question):
        mine = np.flatnonzero(sentences.question == number)
        best = mine[np.argsort(-scores[mine], kind="stable")[:k]]
        shares.append(sentences.evidence[best].sum() / max(1, sentences.evidence[mine].sum()))
    return float(np.mean(shares))
