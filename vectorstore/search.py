"""Hybrid search as pure functions: terms of a question, and the fusion of keyword and dense scores."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vectorstore.papers import Paper, Passage
from vectorstore.text import search_text

DENSE_PASSAGES = 60
KEYWORD_PAPERS = 50
DENSE_WEIGHT = 0.4
"""Share of the dense score; on 1,500 training questions 0.35 to 0.45 lie within 0.8 points of hit@1 (docs/retrieval.md)."""

_K1 = 1.2  # FTS5's constant: a term's BM25 stays below idf * (k1 + 1)

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by can could did do does doing
    down during each either else ever few find for from further get give given go got had has have having he help her here hers him his how however i
    if in into is it its itself just know let like list many may me might more most much must my name no nor not of off on once one only or other our
    out over own paper papers please propose proposed really s same say says see she should show shows so some such t tell than that the their them
    then there these they thing things this those through to too under until up upon us use used uses using very was way we were what whats when where
    whether which while who whom whose why will with work works would write you your briefly describe discuss discussed explain mention mentioned mentions summarise summarize summary""".split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question with its inverse document frequency (natural logarithm, FTS5's formula, above 0)."""

    word: str
    idf: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A found paper. All scores are 0 to 1, larger is better.

    ``score`` is the fused one, ``dense`` the best cosine of a passage, ``keyword`` BM25 as a share of what a paper made
    of the question's words alone could reach. ``passages`` are the abstract's sentences in order with their cosines.
    """

    paper: Paper
    score: float
    dense: float
    keyword: float
    passages: tuple[tuple[Passage, float], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Answer of a search: hits, best first, the terms that were looked up, and the number of papers in the index."""

    hits: tuple[Hit, ...]
    terms: tuple[Term, ...]
    papers: int


def question_terms(question: str, limit: int = 64) -> list[str]:
    """Distinct words of a question worth looking up, in order, at most ``limit``; all its words if it has only stop words."""
    words = re.findall(r"[^\W_]+", search_text(question).lower())
    kept = [word for word in words if word not in STOP_WORDS] or words
    return list(dict.fromkeys(kept))[:limit]


def inverse_document_frequency(papers: int, frequency: int) -> float:
    """FTS5's idf, natural logarithm, with its floor of 1e-6 for words that most papers hold."""
    frequency = min(frequency, papers)  # a writer may have added papers since they were counted
    return max(1e-6, math.log((papers - frequency + 0.5) / (frequency + 0.5)))


def keyword_share(bm25: float, terms: Sequence[Term]) -> float:
    """BM25 as a share, 0 to 1, of its upper bound for these terms."""
    bound = sum(term.idf for term in terms) * (_K1 + 1)
    return min(1.0, max(0.0, bm25 / bound)) if bound > 0 else 0.0


def fuse(dense: float, keyword: float) -> float:
    """Convex combination of two scores in 0 to 1.

    Normalising by fixed bounds instead of the candidates' minimum and maximum keeps scores comparable between questions
    (Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023), so weak hits look weak.
    """
    return DENSE_WEIGHT * min(1.0, max(0.0, dense)) + (1 - DENSE_WEIGHT) * keyword


def rank(papers: Mapping[str, Paper], passages: Mapping[str, Sequence[tuple[Passage, float]]], bm25: Mapping[str, float], terms: Sequence[Term]) -> list[Hit]:
    """Hits for all papers that have passages, by fused score, ties by id. ``bm25`` lacks papers without any term."""
    hits = []
    for paper_id, scored in passages.items():
        dense = max((similarity for _, similarity in scored), default=0.0)
        keyword = keyword_share(bm25.get(paper_id, 0.0), terms)
        hits.append(Hit(papers[paper_id], fuse(dense, keyword), min(1.0, max(0.0, dense)), keyword, tuple(scored)))
    return sorted(hits, key=lambda hit: (-hit.score, hit.paper.id))
