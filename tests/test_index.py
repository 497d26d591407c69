from __future__ import annotations

import numpy as np
import pytest
from conftest import SHELLS, best, paper, three

from vectorstore import Embedder, Filters, PaperIndex, PaperNotFound


def test_search_finds_by_meaning_by_word_and_by_author(small: PaperIndex) -> None:
    assert best(small, "How do insects communicate?")[0] == "c"
    assert best(small, "spring")[0] == "b"
    assert best(small, "jose nunez")[0] == "c"
    assert len(best(small, "anything at all", k=2)) == 2


def test_scores_are_high_for_a_title_and_low_for_nonsense(index: PaperIndex) -> None:
    title = index.search("Spherical Steering: Geometry-Aware Activation Rotation for Language Models").hits[0]
    nonsense = index.search("best pizza near the harbour").hits[0]
    assert title.score > 0.75
    assert nonsense.score < 0.2
    assert all(0 <= value <= 1 for hit in (title, nonsense) for value in (hit.score, hit.dense, hit.keyword))


def test_stored_similarities_are_the_models_own(small: PaperIndex, embedder: Embedder) -> None:
    hit = small.search("Who weighs shells?").hits[0]
    vectors = embedder.embed_documents([f"Weighing Shells. {passage.text}" for passage, _ in hit.passages])
    np.testing.assert_allclose([similarity for _, similarity in hit.passages], vectors @ embedder.embed_query("Who weighs shells?"), atol=0.02)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"a", "b", "c"}),
        (Filters(years=(2024, 2025)), {"b", "c"}),
        (Filters(venue="shellconf"), {"b"}),
        (Filters(topic="Beaches"), {"a", "b"}),
        (Filters(topic="beaches->shells"), {"b"}),
        (Filters(topic="unknown"), {"c"}),
        (Filters(author="jose nunez"), {"c"}),
        (Filters(ids=("a", "c", "x")), {"a", "c"}),
        (Filters(years=(2024, 2026), topic="Beaches", author="Ada Pebble"), {"a"}),
        (Filters(years=(1999, 1999)), set()),
    ],
)
def test_filters_hold_for_search_list_and_count(small: PaperIndex, filters: Filters, expected: set[str]) -> None:
    assert set(best(small, "pebbles shells bees", filters=filters)) == expected
    assert {p.id for p in small.papers(filters)} == expected
    assert small.count(filters) == len(expected)


def test_a_filter_that_leaves_many_papers_still_finds_the_nearest(index: PaperIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    question, filters = "watermarks", Filters(topic="Social Aspects")
    exact = best(index, question, filters=filters)
    monkeypatch.setattr("vectorstore.retrieval._EXACT_UP_TO", 0)
    assert best(index, question, filters=filters)[:3] == exact[:3]


def test_papers_come_back_as_they_were_added(small: PaperIndex) -> None:
    assert [p.to_dict() for p in small.papers()] == [p.to_dict() for p in (three()[2], three()[0], three()[1])]
    assert [p.id for p in small.papers(limit=1, offset=1)] == ["a"]


def test_adding_again_changes_nothing_and_a_change_replaces_whole(small: PaperIndex) -> None:
    assert small.add(three()) == small.add(three())
    generation = small.manifest.generation
    changed = paper("b", title="Weighing Shells", abstract="Shells weigh 9 grams.", authors=["Cy Sand"], year=None, venue=None, topic=None, url=None)
    done = small.add([*three()[::2], changed, paper("d", title="New")])
    assert (done.added, done.changed, done.unchanged, small.manifest.generation) == (1, 1, 2, generation + 1)
    assert small.get(["b"])["b"].to_dict() == changed.to_dict()
    assert [p.text for p, _ in small.search("shells weigh", filters=Filters(ids=("b",))).hits[0].passages] == ["Shells weigh 9 grams."]
    assert small.status().problems == ()


def test_removed_papers_are_gone_and_unknown_ids_remove_nothing(small: PaperIndex) -> None:
    with pytest.raises(PaperNotFound, match=r"not in the index: 'x'; `qa-bot list` shows the ids"):
        small.remove(["a", "x"])
    assert small.count() == 3
    assert small.remove(["b", "b"]) == 1
    assert "b" not in best(small, "shells spring grams")
    assert (small.count(), small.status().problems) == (2, ())
    small.add([paper("b", **SHELLS)])
    assert best(small, "shells spring grams")[0] == "b"


def test_an_index_reopens_with_the_same_answers(small: PaperIndex, embedder: Embedder) -> None:
    before = small.search("dance")
    small.close()
    with PaperIndex(small.folder, embedder) as again:
        assert again.search("dance") == before
