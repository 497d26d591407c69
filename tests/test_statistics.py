from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import roc_auc_score

from qa_bot.evaluate.statistics import Estimate, accuracy_at, auc, aurc, estimate, mean, paired_difference, percentile, risk_coverage

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_percentile_is_nearest_rank() -> None:
    assert [percentile([4, 1, 3, 2], share) for share in (0.5, 0.95, 0.25)] == [2, 4, 1]
    assert percentile(range(1, 101), 0.55) == 55
    assert percentile([], 0.5) == 0


@given(VALUES, st.sampled_from([0.05, 0.5, 0.9, 0.95, 0.99]))
def test_percentile_agrees_with_numpy(values: list[float], share: float) -> None:
    assert percentile(values, share) == np.quantile(values, share, method="inverted_cdf")


def test_the_mean_of_equal_values_has_no_width() -> None:
    assert mean([1.0, 1.0, 1.0]) == Estimate(1.0, 3, 1.0, 1.0)
    assert mean([0.25]) == Estimate(0.25, 1, 0.25, 0.25)


def test_the_interval_agrees_with_scipy() -> None:
    values = [1.0] * 40 + [0.0] * 10
    found = mean(values)
    theirs = bootstrap((values,), np.mean, method="percentile", n_resamples=5000, rng=1).confidence_interval
    assert (found.value, found.n) == (0.8, 50)
    # both are random; their ends lie on a grid of 1/50
    assert (found.ci_low, found.ci_high) == pytest.approx((theirs.low, theirs.high), abs=0.021)


def test_intervals_depend_on_the_seed_alone() -> None:
    values = [0.0, 0.3, 0.4, 1.0, 0.9]
    assert mean(values, seed=3) == mean(values, seed=3)
    assert mean(values, seed=3) != mean(values, seed=4)
    median = estimate(lambda positions: float(np.median(np.array(values)[positions])), 5, seed=3)
    assert median == estimate(lambda positions: float(np.median(np.array(values)[positions])), 5, seed=3)
    assert (median.value, median.n) == (0.4, 5)
    assert 0 <= median.ci_low <= 0.4 <= median.ci_high <= 1


def test_undefined_resamples_are_left_out() -> None:
    # a resample without position 0 is undefined, all others are 1
    assert estimate(lambda positions: 1.0 if 0 in positions else math.nan, 2) == Estimate(1.0, 2, 1.0, 1.0)


def test_a_paired_difference_is_narrower_than_an_unpaired_one() -> None:
    ours = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]
    # always 0.1 less: the difference has no width, though the values spread
    found = paired_difference(ours, [value - 0.1 for value in ours])
    assert (found.value, found.ci_low, found.ci_high) == pytest.approx((0.1, 0.1, 0.1))
    # 1 in 4 improves by 1: mean 0.25, and an interval that holds 0
    found = paired_difference([1, 0, 0, 1], [0, 0, 0, 1])
    assert (found.value, found.n, found.ci_low) == (0.25, 4, 0.0)


def test_risk_coverage_by_hand() -> None:
    # by confidence: 0.9 right, 0.8 wrong, 0.5 right, 0.1 wrong: risks 0/1, 1/2, 1/3, 2/4
    risks = risk_coverage([0.8, 0.1, 0.9, 0.5], [1, 1, 0, 0])
    assert risks == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    # their mean: (0 + 1/2 + 1/3 + 1/2) / 4 = 1/3
    assert aurc(risks) == pytest.approx(1 / 3)
    # 75 % of four are three: 1 - 1/3; 76 % and 90 % need all four
    assert [accuracy_at(share, risks) for share in (0.75, 0.76, 0.9, 0.01)] == pytest.approx([2 / 3, 1 / 2, 1 / 2, 1])
    # equal confidences keep the order of the ids, in which they are given
    assert risk_coverage([0.5, 0.5], [0, 1]) == pytest.approx([0, 1 / 2])


def test_empty_curves_have_no_figures() -> None:
    empty = risk_coverage([], [])
    assert math.isnan(aurc(empty))
    assert math.isnan(accuracy_at(0.9, empty))


def test_auc_by_hand() -> None:
    # pairs of a positive (0.9, 0.4) and a negative (0.4, 0.1): won, won, tied, won
    assert auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)
    assert math.isnan(auc([0.5, 0.6], [True, True]))


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.booleans()), min_size=2, max_size=30))
def test_auc_agrees_with_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = zip(*pairs, strict=True)
    if len(set(labels)) == 2:
        assert auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores))
