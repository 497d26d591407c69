"""Answers from the papers' records: authors, title, venue, link, and the papers of an author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qa_bot.answer import Citation, Sentence, citation
from qa_bot.routing import Field, name_candidates
from vectorstore import Filters, Paper, PaperIndex
from vectorstore.text import fold

_LISTED = 50

Composed = tuple[tuple[Sentence, ...], tuple[Citation, ...]]


def statements(paper: Paper, fields: Sequence[Field]) -> Composed:
    """One sentence for each asked field of the paper's record, with the paper as citation 1."""
    written = {"authors": _authors, "title": _title, "venue": _venue, "url": _url}
    return tuple(Sentence(written[name](paper), (1,), "checked") for name in fields), (citation(1, paper),)


def by_author(index: PaperIndex, question: str, filters: Filters) -> Composed | None:
    """All papers of the author that ``question`` names in full, or None if it names none of the index's authors."""
    for name in name_candidates(question):
        wanted = replace(filters, author=name)
        count = index.count(wanted)
        if count:
            papers = list(index.papers(wanted, limit=_LISTED))
            spelling = next(author for author in papers[0].authors if fold(author) == fold(name))
            numbers = tuple(range(1, len(papers) + 1))
            listed = "" if count == len(papers) else f"; the first {len(papers)} by title"
            total = f"{count} {'paper lists' if count == 1 else 'papers list'} {spelling} as an author{listed}."
            sentences = [Sentence(total, numbers, "checked")]
            sentences += [Sentence(_authors(paper), (number,), "checked") for number, paper in zip(numbers, papers, strict=True)]
            return tuple(sentences), tuple(citation(number, paper) for number, paper in zip(numbers, papers, strict=True))
    return None


def _authors(paper: Paper) -> str:
    if not paper.authors:
        return f"The record of “{paper.title}” names no authors."
    if len(paper.authors) == 1:
        return f"“{paper.title}” was written by {paper.authors[0]}."
    return f"“{paper.title}” was written by {', '.join(paper.authors[:-1])} and {paper.authors[-1]}."


def _title(paper: Paper) -> str:
    return f"The title is “{paper.title}”."


def _venue(paper: Paper) -> str:
    place = paper.venue or (str(paper.year) if paper.year else None)
    return f"“{paper.title}” appeared at {place}." if place else f"The record of “{paper.title}” names no venue."


def _url(paper: Paper) -> str:
    return f"“{paper.title}” is at {paper.url}" if paper.url else f"The record of “{paper.title}” has no link."
