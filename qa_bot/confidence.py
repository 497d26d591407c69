"""How likely it is that the papers answer a question: a fitted probability from retrieval signals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from qa_bot.learned.parameters import broken, read_parameters
from vectorstore import Found

FEATURES = ("score", "dense", "keyword", "gap", "size")
PARAMETERS = "confidence.json"
EXAMPLES = "confidence-examples.jsonl"
"""What the parameters were fitted on."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """Logistic regression on :data:`FEATURES`, and the threshold below which the bot declines."""

    intercept: float
    weights: Mapping[str, float]
    threshold: float

    def probability(self, found: Found) -> float:
        """Probability, 0 to 1, that the best hit answers the question; 0 without hits."""
        if not found.hits:
            return 0.0
        logit = self.intercept + sum(self.weights[name] * value for name, value in signals(found).items())
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def signals(found: Found) -> dict[str, float]:
    """Features of a search with at least one hit, each about 0 to 1.

    ``score`` and ``gap`` are the best hit's score and its lead over the second; ``dense`` and ``keyword`` are the best of
    any hit; ``size`` is log10(papers) / 4, since scores mean less the more papers compete.
    """
    best = found.hits[0]
    second = found.hits[1].score if len(found.hits) > 1 else 0.0
    return {
        "score": best.score,
        "dense": max(hit.dense for hit in found.hits),
        "keyword": max(hit.keyword for hit in found.hits),
        "gap": best.score - second,
        "size": math.log10(max(1, found.papers)) / 4,
    }


@lru_cache(maxsize=4)
def fitted(folder: Path | None = None) -> Confidence:
    """The parameters in ``folder``, if it has any, or those that ship with the program; the file says how they were fitted.

    Raises:
        SettingsError: no such folder, or a file that holds no parameters.
    """
    parameters = read_parameters(PARAMETERS, folder)
    try:
        weights = {name: float(parameters["weights"][name]) for name in FEATURES}
        return Confidence(float(parameters["intercept"]), weights, float(parameters["threshold"]))
    except (ValueError, KeyError, TypeError) as error:
        raise broken(PARAMETERS, folder, error) from None
