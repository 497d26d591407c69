"""Hybrid search over an open catalogue and its vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vectorstore.catalogue import Catalogue
from vectorstore.errors import IndexDamaged
from vectorstore.filters import Filters
from vectorstore.papers import Paper, Passage
from vectorstore.search import DENSE_PASSAGES, KEYWORD_PAPERS, Hit, Term, rank
from vectorstore.vectors import Vectors

_EXACT_UP_TO = 200
"""Papers that a filter may leave before the nearest passages are looked up approximately; 200 take about 25 ms exactly."""

Vector = NDArray[np.float32]
Scored = dict[str, list[tuple[Passage, float]]]


def hybrid_search(catalogue: Catalogue, vectors: Vectors, terms: Sequence[Term], vector: Vector, *, filters: Filters, total: int) -> list[Hit]:
    """All candidates by fused score: papers with one of the nearest passages or one of the terms, scored on all their passages.

    ``vector`` is the question's, shape ``(dimension,)``; ``total`` the number of papers in the index.

    Raises:
        IndexDamaged: a paper that counts as embedded has no vectors.
    """
    bm25 = dict(catalogue.keyword_search([term.word for term in terms], KEYWORD_PAPERS, filters))
    near = _near(catalogue, vectors, vector, filters, total)
    papers = catalogue.get(sorted(near | bm25.keys()), searchable=True)
    return rank(papers, _scored(catalogue, vectors, papers, vector), bm25, terms)


def _near(catalogue: Catalogue, vectors: Vectors, vector: Vector, filters: Filters, total: int) -> set[str]:
    k = DENSE_PASSAGES
    allowed = catalogue.ids(filters) if filters else None
    if allowed is not None:
        if len(allowed) <= _EXACT_UP_TO:
            return allowed
        # filtered here, since Chroma's own filter took 80 ms where it held for every passage
        k = math.ceil(1.5 * k * total / len(allowed))
    found = {passage_id.rpartition("#")[0] for passage_id, _ in vectors.nearest(vector, k)}
    return found if allowed is None else found & allowed


def _scored(catalogue: Catalogue, vectors: Vectors, papers: dict[str, Paper], vector: Vector) -> Scored:
    wanted = [passage for paper in papers.values() for passage in paper.passages]
    found = vectors.get([passage.id for passage in wanted])
    lost = {passage.paper_id for passage in wanted if passage.id not in found}
    # papers that another process removed or changed just now are no loss, others are
    still = catalogue.get(sorted(lost), searchable=True)
    if damaged := [paper_id for paper_id, paper in still.items() if paper.abstract == papers[paper_id].abstract]:
        raise IndexDamaged(f"vectors of {len(damaged)} papers are missing, among them {damaged[0]!r}; run: qa-bot rebuild")
    wanted = [passage for passage in wanted if passage.paper_id not in lost]
    scored: Scored = {}
    if wanted:
        similarities = np.stack([found[passage.id] for passage in wanted]) @ vector
        for passage, similarity in zip(wanted, similarities.tolist(), strict=True):
            scored.setdefault(passage.paper_id, []).append((passage, similarity))
    return scored
