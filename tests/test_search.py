from __future__ import annotations

import math

import pytest
from conftest import paper

from vectorstore.search import Term, fuse, inverse_document_frequency, keyword_share, question_terms, rank


def test_question_terms_drop_stop_words_and_repeats() -> None:
    assert question_terms("How does the LoRA-based LoRA method work?") == ["lora", "based", "method"]
    assert question_terms("what is it") == ["what", "is", "it"]
    assert question_terms("?!") == []


def test_idf_is_fts5s() -> None:
    # ln((38 - 3 + 0.5) / (3 + 0.5)) = ln(10.142857)
    assert inverse_document_frequency(38, 3) == pytest.approx(2.316769)
    assert inverse_document_frequency(38, 30) == 1e-6


def test_keyword_share_is_bm25_over_its_bound() -> None:
    # idf 1 and 2 bound BM25 by (1 + 2) * (1.2 + 1) = 6.6
    terms = [Term("a", 1.0), Term("b", 2.0)]
    assert keyword_share(3.3, terms) == pytest.approx(0.5)
    assert keyword_share(9.9, terms) == 1.0
    assert keyword_share(1.0, []) == 0.0


def test_fusion_is_a_convex_combination_within_0_and_1() -> None:
    assert fuse(0.5, 0.25) == pytest.approx(0.4 * 0.5 + 0.6 * 0.25)
    assert (fuse(-0.3, 0.0), fuse(1.0000001, 1.0)) == (0.0, 1.0)


def test_rank_orders_by_score_then_id() -> None:
    papers = {i: paper(i) for i in ("b", "a", "c")}
    passages = {i: [(papers[i].passages[0], 0.5)] for i in papers}
    passages["c"] = [(papers["c"].passages[0], 0.1), (papers["c"].passages[1], 0.9)]
    hits = rank(papers, passages, {}, [Term("x", 1.0)])
    assert [(hit.paper.id, round(hit.score, 2), hit.dense, hit.keyword) for hit in hits] == [("c", 0.36, 0.9, 0.0), ("a", 0.2, 0.5, 0.0), ("b", 0.2, 0.5, 0.0)]


def test_logarithm_is_natural() -> None:
    assert inverse_document_frequency(100, 0) == pytest.approx(math.log(201))
