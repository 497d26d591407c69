"""Fits the confidence and its threshold on test questions, and writes them with their provenance.

    python -m qa_bot.learned.fit_confidence INDEX=QUESTIONS[,QUESTIONS…]… [--out FILE]

Each argument names the folder of an index and the question sets that are asked against it. Questions whose paper is there
but lacks the detail (unanswerable with a paper in ``also_ok``) are left out: retrieval alone can't tell them apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_bot.answer import as_turns
from qa_bot.confidence import FEATURES, PARAMETERS, signals
from qa_bot.conversation import standalone_question
from qa_bot.evaluate.questions import load_questions
from qa_bot.routing import route
from vectorstore import Embedder, PaperIndex

NEEDLESS = 0.05
"""Share of answerable questions that the threshold may refuse, on cross-validated probabilities."""
FOLDS = 10
SEED = 0


@dataclass(frozen=True, slots=True)
class Examples:
    """Feature rows, shape ``(n, features)``; whether each question is answerable; and which index it was asked against."""

    rows: NDArray[np.float64]
    answerable: NDArray[np.bool_]
    corpus: NDArray[np.int64]


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(prog="python -m qa_bot.learned.fit_confidence", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", nargs="+", metavar="INDEX=QUESTIONS[,QUESTIONS…]")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(PARAMETERS))
    options = parser.parse_args(arguments)
    sets = [(Path(index), [Path(name) for name in names.split(",")]) for index, _, names in (entry.partition("=") for entry in options.sets)]
    fitted = fit(gather(sets))
    fitted["provenance"]["question_sets"] = [
        {"name": source.name, "sha256": hashlib.sha256(source.read_bytes()).hexdigest(), "papers": _papers(index)}
        for index, sources in sets
        for source in sources
    ]
    options.out.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
    print(json.dumps({key: value for key, value in fitted["provenance"].items() if key != "question_sets"}, indent=1))


def gather(sets: Sequence[tuple[Path, Sequence[Path]]]) -> Examples:
    """Search every question of the sets and collect its signals."""
    rows, answerable, corpus = [], [], []
    for number, (folder, sources) in enumerate(sets):
        index = PaperIndex(folder, Embedder())
        for question in (question for source in sources for question in load_questions(source)):
            near_miss = not question.answerable and question.also_ok
            if near_miss or question.type == "count" or route(question.question).route in ("blank", "greeting", "thanks"):
                continue
            found = index.search(standalone_question(question.question, as_turns(question.messages())))
            rows.append([signals(found)[name] for name in FEATURES])
            answerable.append(question.answerable)
            corpus.append(number)
        index.close()
    return Examples(np.array(rows), np.array(answerable), np.array(corpus))


def fit(examples: Examples) -> dict[str, Any]:
    """Parameters and provenance: a logistic regression, and the threshold that refuses :data:`NEEDLESS` of the answerable."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    held_out = cross_val_predict(model, examples.rows, examples.answerable, cv=folds, method="predict_proba")[:, 1]
    threshold = float(np.quantile(held_out[examples.answerable], NEEDLESS))
    model.fit(examples.rows, examples.answerable)
    scaler, regression = model[0], model[1]
    weights = regression.coef_[0] / scaler.scale_
    intercept = float(regression.intercept_[0] - weights @ scaler.mean_)
    refused = held_out < threshold
    return {
        "intercept": round(intercept, 6),
        "weights": {name: round(float(weight), 6) for name, weight in zip(FEATURES, weights, strict=True)},
        "threshold": round(threshold, 6),
        "provenance": {
            "command": "python -m qa_bot.learned.fit_confidence (CONTRIBUTING.md gives its arguments)",
            "date": date.today().isoformat(),
            "method": f"logistic regression on standardised signals, C=1; threshold: the {NEEDLESS:.0%} quantile of the answerable questions' "
            f"held-out probabilities ({FOLDS} stratified folds, seed {SEED})",
            "questions": {"answerable": int(examples.answerable.sum()), "unanswerable": int((~examples.answerable).sum())},
            "held_out": {
                "auc": round(float(roc_auc_score(examples.answerable, held_out)), 4),
                "unanswerable_refused": round(float(refused[~examples.answerable].mean()), 4),
                "needless_refusals": round(float(refused[examples.answerable].mean()), 4),
            },
            "left_out": "questions whose paper is in the index but lacks the detail, and counts: this version's signals don't see them",
        },
    }


def _papers(folder: Path) -> int:
    return int(json.loads((folder / "manifest.json").read_text("utf-8"))["papers"])


if __name__ == "__main__":
    main()
