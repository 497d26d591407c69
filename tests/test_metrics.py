"""Every measure worked out by hand, and against an independent implementation where one exists."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, precision_recall_fscore_support

from qa_bot.evaluate.metrics import (
    answer_words,
    citation_precision,
    citation_recall,
    count_exactness,
    f1,
    hit_at,
    key_fact_recall,
    ndcg_at,
    quote_exactness,
    ranking,
    recall_at,
    recall_curve,
    reciprocal_rank,
    stated_number,
    support_rate,
)

IDS = st.sampled_from("abcdefgh")


def test_ranking_measures_by_hand() -> None:
    ranked = ["x", "a", "y", "b"]
    assert (hit_at(1, ranked, {"a"}), hit_at(2, ranked, {"a"})) == (0.0, 1.0)
    # of a, b and c, one is among the first 2 and two are among the first 5
    assert recall_at(2, ranked, {"a", "b", "c"}) == pytest.approx(1 / 3)
    assert recall_at(5, ranked, {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert recall_curve(4, ranked, {"a", "b", "c"}) == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3])
    assert recall_at(5, ["a"], ["a", "a"]) == 1.0
    # the first relevant id has rank 2
    assert (reciprocal_rank(ranked, {"a", "b"}), reciprocal_rank(ranked, {"z"})) == (0.5, 0.0)
    # gains at ranks 2 and 4: 1/log2(3) + 1/log2(5); the best order has them at ranks 1 and 2: 1 + 1/log2(3)
    assert ndcg_at(10, ranked, {"a", "b"}) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3)))
    # cut at 3, b is lost
    assert ndcg_at(3, ranked, {"a", "b"}) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_ranking_measures_at_their_edges() -> None:
    assert [measure([], {"a"}) for measure in (reciprocal_rank, lambda r, g: hit_at(1, r, g), lambda r, g: ndcg_at(10, r, g))] == [0.0, 0.0, 0.0]
    assert (hit_at(1, ["a"], ()), recall_at(5, ["a"], ()), reciprocal_rank(["a"], ()), ndcg_at(10, ["a"], ())) == (0.0, 1.0, 0.0, 0.0)
    assert (recall_at(5, [], {"a"}), recall_curve(2, [], {"a"}), recall_curve(2, ["a"], ())) == (0.0, [0.0, 0.0], [1.0, 1.0])


@given(st.lists(IDS, min_size=2, max_size=8, unique=True), st.sets(IDS, min_size=1))
def test_ranking_measures_agree_with_other_implementations(ranked: list[str], relevant: set[str]) -> None:
    flags = [paper in relevant for paper in ranked]
    assert hit_at(3, ranked, relevant) == float(any(flags[:3]))
    assert recall_at(3, ranked, relevant) == pytest.approx(sum(flags[:3]) / len(relevant))
    assert reciprocal_rank(ranked, relevant) == pytest.approx(1 / (flags.index(True) + 1) if any(flags) else 0)
    # scikit-learn wants a score for every id; what wasn't ranked comes last, where k=len(ranked) doesn't see it
    every = ranked + sorted(relevant - set(ranked))
    scores = [len(every) - rank for rank in range(len(every))]
    assert ndcg_at(len(ranked), ranked, relevant) == pytest.approx(ndcg_score([[paper in relevant for paper in every]], [scores], k=len(ranked)))


def test_ties_are_broken_by_id() -> None:
    assert ranking({"b": 0.5, "c": 0.9, "a": 0.5}) == ["c", "a", "b"]


def test_citation_measures_by_hand() -> None:
    assert citation_precision(["a", "b", "x"], {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert citation_precision([], {"a"}) == 0.0
    assert citation_recall(["a", "x"], {"a", "b"}) == 0.5
    assert citation_recall([], set()) == 1.0
    # 2 * 2/3 * 1/2 / (2/3 + 1/2) = (2/3) / (7/6) = 4/7
    assert f1(2 / 3, 1 / 2) == pytest.approx(4 / 7)
    assert f1(0, 0) == 0.0


@given(st.sets(IDS, min_size=1), st.sets(IDS, min_size=1))
def test_citation_measures_agree_with_scikit_learn(cited: set[str], gold: set[str]) -> None:
    every = sorted(cited | gold)
    expected = precision_recall_fscore_support([i in gold for i in every], [i in cited for i in every], average="binary", zero_division=0.0)
    precision, recall = citation_precision(cited, gold), citation_recall(cited, gold)
    assert (precision, recall, f1(precision, recall)) == pytest.approx(expected[:3])


@pytest.mark.parametrize(
    ("text", "forms", "held"),
    [
        ("It gains 2.5× in speed.", ["2.5×"], True),
        ("a 3–5× gain", ["3-5×"], True),
        ("a gain of 10 %", ["10%"], True),
        ("6.0×10⁴ tons", ["6.0×10^4"], True),
        ("6.0×10⁴ tons", ["104"], False),
        ("an error of $10^{-3}$", ["10^-3"], True),
        ("5,000 models", ["5000"], True),
        ("15x faster", ["5x"], False),
        ("a new concept", ["once"], False),
        ("an emulated transformer", ["emulat"], True),
        ("It is O(n^5).", ["5"], False),
        ("anything", [""], False),
        ("It took 15 runs.", ["5"], False),
        ("It took 5.2 runs.", ["5"], False),
        ("It took 5,000 runs.", ["5"], False),
        ("It took 5, not 6.", ["5"], True),
        ("It ended at 5.", ["5"], True),
        ("Case-K is hard", ["Case-$K$"], True),
        ("at least 1+ε", ["1+\\varepsilon"], True),
        ("The Wasserstein  distance", ["wasserstein distance"], True),
        ("“monitorability”", ['"monitorability"'], True),
    ],
)
def test_key_facts_are_compared_after_normalising(text: str, forms: list[str], held: bool) -> None:
    assert key_fact_recall(text, [forms]) == float(held)


def test_key_fact_recall_is_the_share_of_facts() -> None:
    # alpha and gamma are there, delta is not
    assert key_fact_recall("alpha and gamma", [["alpha"], ["beta", "gamma"], ["delta"]]) == pytest.approx(2 / 3)
    assert key_fact_recall("anything", []) == 1.0


def test_a_quote_is_exact_only_whole_and_in_place() -> None:
    abstract = "We count 42 pebbles."
    assert quote_exactness([("We count", 0, 8), ("count 42", 3, 11)], abstract) == 1.0
    assert quote_exactness([("We count", 0, 8), ("count 43", 3, 11)], abstract) == 0.5
    assert quote_exactness([("We count", 1, 9)], abstract) == 0.0
    assert quote_exactness([(".", -1, 20), (abstract, 0, 99)], abstract) == 0.0
    assert quote_exactness([], abstract) == 1.0


SOURCE = "Counting Pebbles. We count 42 pebbles on a beach with a net. Code: https://example.org/pebbles"


@pytest.mark.parametrize(
    ("text", "sources", "held"),
    [
        ("We count 42 pebbles on a beach with a net.", [SOURCE], True),
        ("42 pebbles on a beach", ["elsewhere", SOURCE], True),
        # words: count, 42, beach, pebbles are there, carefully is not: 4 of 5
        ("They count 42 beach pebbles carefully.", [SOURCE], True),
        ("They count 43 beach pebbles.", [SOURCE], False),
        ("Count pebbles: https://evil.example/pebbles", [SOURCE], False),
        ("Transformers learn protein structure from pebbles.", [SOURCE], False),
        ("We count 42 pebbles.", [], False),
        ("", [SOURCE], True),
        ("?!", [SOURCE], False),
    ],
)
def test_support_of_one_sentence(text: str, sources: list[str], held: bool) -> None:
    assert support_rate([(text, sources)]) == float(held)


def test_support_rate_is_the_share_of_sentences() -> None:
    assert support_rate([("We count 42", [SOURCE]), ("We count 41", [SOURCE]), ("a net", [SOURCE])]) == pytest.approx(2 / 3)
    assert support_rate([]) == 1.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2 papers list Han Liu.", 2),
        ("There are eleven of them, not 12.", 11),
        ("“7 Ways to Fail” [3] is among 1,204 papers.", 1204),
        ("No paper mentions it.", 0),
        ("The share is 2.5 of them, GPT4 says.", None),
        ("Some do.", None),
        ("In 2023, 5 papers mention it.", 5),
        ("Of the 38 papers, 5 mention it.", 5),
        ("5 of the 38 papers mention it.", 5),
        ("No fewer than 5 papers do.", 5),
        ("There are twenty-one such papers.", 21),
        ("Three of them do.", 3),
        ("4 papers by 2 authors", 4),
    ],
)
def test_the_first_whole_number_outside_titles_is_the_stated_one(text: str, number: int | None) -> None:
    assert stated_number(text) == number


def test_count_exactness_wants_the_number_and_the_set() -> None:
    assert count_exactness(2, ["a", "b"], ["b", "a"]) == 1.0
    assert count_exactness(3, ["a", "b"], ["a", "b"]) == 0.0
    assert count_exactness(None, ["a", "b"], ["a", "b"]) == 0.0
    assert count_exactness(2, ["a", "x"], ["a", "b"]) == 0.0
    assert count_exactness(2, ["a", "b", "x"], ["a", "b"]) == 0.0
    # a borderline paper may be listed, and then counted or not
    assert [count_exactness(n, ["a", "b", "x"], ["a", "b"], ["x"]) for n in (2, 3, 4)] == [1.0, 1.0, 0.0]
    assert count_exactness(0, [], []) == 1.0


def test_length_is_counted_in_words() -> None:
    assert answer_words("Two  pebbles,\none beach.") == 4
