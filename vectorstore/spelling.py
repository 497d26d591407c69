"""Slips and abbreviations in a question, mended from the words of the collection itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import snowballstemmer
from rapidfuzz.distance import OSA

from vectorstore.catalogue import Catalogue
from vectorstore.search import STOP_WORDS
from vectorstore.text import search_text

_WORD = re.compile(r"(?<![\w@/.-])[a-z]{4,}(?![\w@/]|[.-]\w)")
_LEAST_LETTERS, _MANY_LETTERS = 5, 9
"""Fewest letters of a word that is mended for one slip (a letter dropped, added, exchanged, or two swapped), and for two."""


def corrected(question: str, catalogue: Catalogue, is_word: Callable[[str], bool]) -> str:
    """``question`` with its misspelt lower-case words replaced by the likeliest words of the collection.

    A word is misspelt if no paper holds it and ``is_word`` doesn't know it either: a collection on physics has no "dairy", which
    must not become "daily". It is taken for an abbreviation of a longer word that at least two papers hold ("interp"), else for
    a slip of a word that starts with the same letter. Words with capitals or digits stay as they are: they are names, and a
    name that isn't there must not become another one.
    """

    def mend(match: re.Match[str]) -> str:
        word = match[0]
        if word in STOP_WORDS or is_word(word) or catalogue.document_frequency(word):
            return word
        return _likeliest(word, catalogue) or word

    return _WORD.sub(mend, question)


def _likeliest(word: str, catalogue: Catalogue) -> str | None:
    stem = _stem(word)
    nearby = catalogue.vocabulary(word[0])
    if longer := [(-papers, term) for term, papers in nearby if term.startswith(word) and papers > 1]:
        return min(_surfaces(min(longer)[1], catalogue), key=lambda found: (len(found), found), default=None)
    allowed = 0 if len(word) < _LEAST_LETTERS else 1 if len(word) < _MANY_LETTERS else 2
    slips = [(OSA.distance(stem, term, score_cutoff=allowed), -papers, term) for term, papers in nearby if abs(len(term) - len(stem)) <= allowed]
    distance, _, term = min(slips, default=(allowed + 1, 0, ""))
    if not 0 < distance <= allowed:
        return None
    # stems are alike sooner than words are: "lameness" is no slip of "late"
    return min((found for found in _surfaces(term, catalogue) if OSA.distance(word, found) <= allowed), key=lambda f: (OSA.distance(word, f), f), default=None)


def _surfaces(term: str, catalogue: Catalogue) -> set[str]:
    """Words with that stem in a few papers that hold it."""
    papers = catalogue.get([paper_id for paper_id, _ in catalogue.keyword_search([term], 10)])
    text = search_text(" ".join(f"{paper.title} {paper.abstract}" for paper in papers.values())).lower()
    return {found for found in re.findall(r"[a-z]+", text) if _stem(found) == term}


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    # the stemmer of the catalogue's full-text search
    return str(snowballstemmer.stemmer("porter").stemWord(word))
