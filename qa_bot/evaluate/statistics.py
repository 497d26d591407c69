"""Statistics over many answers: percentiles, bootstrap intervals, paired differences, and curves of risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
"""Bootstrap resamples; the interval's ends then vary by about a twentieth of its width between seeds."""

Statistic = Callable[[NDArray[np.int64]], float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure over ``n`` questions with its 95 % bootstrap interval."""

    value: float
    n: int
    ci_low: float
    ci_high: float


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest-rank percentile: the smallest value that at least ``share`` (0 to 1) of the values don't exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)] if ordered else 0.0


def mean(values: ArrayLike, seed: int = 0) -> Estimate:
    """Mean of one or more values with its interval: 2.5 % and 97.5 % of the means of resamples drawn with replacement.

    The percentile method of Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13. Where all values are
    equal the interval is that one point, however few they are.
    """
    numbers = np.asarray(values, dtype=float)
    # how often each value is drawn; one matrix product then gives all the means
    drawn = np.random.default_rng(seed).multinomial(len(numbers), np.full(len(numbers), 1 / len(numbers)), size=RESAMPLES)
    low, high = np.quantile(drawn @ numbers / len(numbers), [0.025, 0.975])
    return Estimate(float(numbers.mean()), len(numbers), float(low), float(high))


def estimate(statistic: Statistic, n: int, seed: int = 0) -> Estimate:
    """A statistic of ``n`` questions that is no mean, with its percentile bootstrap interval.

    ``statistic`` takes the positions of the questions to use, shape ``(n,)``, repeats included; resamples for which it is not
    defined (NaN) are left out.
    """
    drawn = np.random.default_rng(seed).integers(0, n, size=(RESAMPLES, n))
    values = np.array([statistic(np.sort(positions)) for positions in drawn])
    low, high = np.nanquantile(values, [0.025, 0.975])
    return Estimate(statistic(np.arange(n)), n, float(low), float(high))


def paired_difference(ours: Sequence[float], other: Sequence[float], seed: int = 0) -> Estimate:
    """Mean of ``ours`` less mean of ``other`` over the same questions, with its interval; one that leaves out 0 is a difference.

    Both have one value a question, NaN where the measure doesn't apply, as the precision of refusals to an answer. Questions are
    resampled, each with both its values, so what the runs have in common cancels out. ``n`` counts the questions where
    either value is there; a handful of them gives an interval that is too narrow.
    """
    mine, theirs = np.asarray(ours, dtype=float), np.asarray(other, dtype=float)
    kept = ~(np.isnan(mine) & np.isnan(theirs))
    mine, theirs = mine[kept], theirs[kept]
    n = len(mine)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)

    def means(values: NDArray[np.float64]) -> NDArray[np.float64]:
        there = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = (drawn @ np.where(there, values, 0.0)) / (drawn @ there)
        return found

    differences = means(mine) - means(theirs)
    low, high = np.nanquantile(differences, [0.025, 0.975])
    return Estimate(float(np.nanmean(mine) - np.nanmean(theirs)), n, float(low), float(high))


def risk_coverage(confidence: ArrayLike, wrong: ArrayLike) -> NDArray[np.float64]:
    """Risk, 0 to 1, when only the most confident 1, 2, … n questions are answered, shape ``(n,)``: a coverage of 1/n, 2/n, … 1.

    ``wrong`` is 1 for a wrong answer; both have shape ``(n,)`` and are in the order of the questions' ids, which breaks ties.
    El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification", 2010.
    """
    order = np.argsort(-np.asarray(confidence, dtype=float), kind="stable")
    risks: NDArray[np.float64] = np.cumsum(np.asarray(wrong, dtype=float)[order]) / np.arange(1, len(order) + 1)
    return risks


def aurc(risks: NDArray[np.float64]) -> float:
    """Area under the risk-coverage curve: the mean of its risks, 0 to 1, smaller is better; NaN for an empty curve.

    Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
    """
    return float(risks.mean()) if len(risks) else math.nan


def accuracy_at(coverage: float, risks: NDArray[np.float64]) -> float:
    """1 - risk at the first point of the curve that covers at least ``coverage`` (above 0, at most 1); NaN for an empty curve."""
    return 1 - float(risks[math.ceil(round(coverage * len(risks), 9)) - 1]) if len(risks) else math.nan


def auc(scores: ArrayLike, positive: ArrayLike) -> float:
    """Area under the ROC curve: how often a positive has a larger score than a negative, a tie counting half; NaN if either is missing.

    Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic curve", 1982.
    """
    numbers, labels = np.asarray(scores, dtype=float), np.asarray(positive, dtype=bool)
    yes, no = numbers[labels], np.sort(numbers[~labels])
    if not len(yes) or not len(no):
        return math.nan
    below, not_above = np.searchsorted(no, yes, "left"), np.searchsorted(no, yes, "right")
    return float((below + not_above).mean() / 2 / len(no))
