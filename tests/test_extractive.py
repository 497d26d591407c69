from __future__ import annotations

import pytest
from conftest import paper

from qa_bot.confidence import FEATURES, Confidence, fitted, signals
from qa_bot.extractive import select, sentence_scores
from vectorstore import Found, Hit, Term


def hit(paper_id: str, score: float, similarities: list[float], *, keyword: float = 0.5, **fields: object) -> Hit:
    found = paper(paper_id, **fields)
    return Hit(found, score, max(similarities), keyword, tuple(zip(found.passages, similarities, strict=True)))


# the abstract: "We count pebbles on a beach. The count is 42. Code is at https://example.org/pebbles."
# (a sentence that only gives a link which nobody asked for scores 0.3 less)
def test_sentence_score_is_similarity_plus_overlap_plus_bonus() -> None:
    terms = (Term("pebbles", 3.0), Term("beach", 1.0), Term("size", 3.0))
    # "pebbles" is in the title and doesn't count; of the mass 1 + 3, sentence 1 holds "beach", 1/4 at weight 0.5
    assert sentence_scores("beach size?", hit("a", 0.9, [0.5, 0.4, 0.1]), terms) == pytest.approx([0.5 + 0.125, 0.4, 0.1 - 0.3])
    # "how many" asks for a figure: sentence 2 gets 0.2
    assert sentence_scores("how many?", hit("a", 0.9, [0.5, 0.4, 0.1]), ()) == pytest.approx([0.5, 0.6, 0.1 - 0.3])


def test_sentences_come_in_reading_order_without_far_worse_ones() -> None:
    chosen = select("beach?", [hit("a", 0.9, [0.3, 0.6, 0.1])], (), route="question", limit=4)
    assert [p.number for p in chosen] == [0, 1]
    assert [p.number for p in select("beach?", [hit("a", 0.9, [0.3, 0.6, 0.1])], (), route="question", limit=1)] == [1]


def test_a_question_for_code_gets_the_sentence_with_the_link() -> None:
    assert [p.text for p in select("github link?", [hit("a", 0.9, [0.9, 0.8, 0.1])], (), route="question", limit=4)] == [
        "Code is at https://example.org/pebbles."
    ]


def test_topics_take_one_sentence_of_each_relevant_paper_and_comparisons_two_papers() -> None:
    hits = [hit("a", 0.9, [0.6, 0.1, 0.1]), hit("b", 0.6, [0.1, 0.6, 0.1]), hit("c", 0.3, [0.6, 0.1, 0.1])]
    assert [p.id for p in select("shore?", hits, (), route="topic", limit=4)] == ["a#0", "b#1"]
    assert [p.paper_id for p in select("shore?", hits, (), route="comparison", limit=4)] == ["a", "b"]
    assert {p.paper_id for p in select("shore?", [hits[0], hits[2]], (), route="comparison", limit=4)} == {"a"}
    assert select("shore?", [], (), route="question", limit=4) == []


def test_signals_describe_the_search() -> None:
    found = Found((hit("a", 0.6, [0.5, 0, 0], keyword=0.7), hit("b", 0.4, [0.8, 0, 0], keyword=0.1)), (), 100)
    assert signals(found) == pytest.approx({"score": 0.6, "dense": 0.8, "keyword": 0.7, "gap": 0.2, "size": 0.5})


def test_probability_is_the_logistic_of_the_weighted_signals() -> None:
    confidence = Confidence(-1.0, dict.fromkeys(FEATURES, 0.0) | {"score": 2.0}, 0.5)
    # -1 + 2 * 0.5 = 0
    assert confidence.probability(Found((hit("a", 0.5, [0.5, 0, 0]),), (), 100)) == 0.5
    assert confidence.probability(Found((), (), 100)) == 0.0


def test_the_fitted_file_is_complete_and_says_how_it_was_made() -> None:
    assert set(fitted().weights) == set(FEATURES)
    assert 0 < fitted().threshold < 1
