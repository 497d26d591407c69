"""Answers from the papers' records: authors, title, venue, link, and the papers of an author."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from qa_bot.answer import Citation, Sentence, citation
from qa_bot.routing import Field, asks_count, name_candidates
from vectorstore import Filters, Paper, PaperIndex
from vectorstore.search import STOP_WORDS
from vectorstore.text import name_key

_LISTED = 50
_AUTHORSHIP = frozenset(
    """all also among any appear appears article articles author authored authors book books coauthor coauthored co collection conference count index include included including involve involving list listed lists name named number
    publication publications publish published research researcher together writer writes writing written wrote""".split()
)

_PLACE = frozenset("bundled catalogue corpus database exist hold indexed loaded many overall total totally altogether available".split())

Composed = tuple[tuple[Sentence, ...], tuple[Citation, ...]]


def statements(paper: Paper, fields: Sequence[Field]) -> Composed:
    """One sentence for each asked field of the paper's record, with the paper as citation 1."""
    written = {"authors": _authors, "title": _title, "venue": _venue, "url": _url}
    return tuple(Sentence(written[name](paper), (1,), "checked") for name in fields), (citation(1, paper),)


def authors_named(index: PaperIndex, question: str) -> list[tuple[int, int, str]]:
    """Authors of the index whose whole names stand in a question of authorship, in order: start, end, name."""
    found: list[tuple[int, int, str]] = []
    for start, end, name in name_candidates(question):
        if all(end <= other[0] or other[1] <= start for other in found) and index.count(Filters(author=name)):
            found.append((start, end, name))
    return sorted(found)


def is_about_authorship(question: str, named: Sequence[tuple[int, int, str]]) -> bool:
    """Whether nothing but the names and words of authorship is left to ask, as in "papers by Ada Pebble"."""
    for start, end, _ in reversed(named):
        question = question[:start] + " " + question[end:]
    words = re.findall(r"[^\W_]+", question.lower())
    return bool(named) and not [word for word in words if word not in STOP_WORDS and word not in _AUTHORSHIP]


def is_about_total(question: str) -> bool:
    """Whether the question asks for the number of papers and names no subject, as "How many papers are there?"."""
    words = re.findall(r"[^\W_]+", question.lower())
    return asks_count(question) and not [word for word in words if word not in STOP_WORDS and word not in _AUTHORSHIP and word not in _PLACE]


def total(index: PaperIndex, filters: Filters) -> Composed:
    """The number of papers, of those that the filters leave if there are any."""
    count = index.count(filters)
    noun = "paper" if count == 1 else "papers"
    return (Sentence(f"{count:,} {noun} match the filters." if filters else f"The index holds {count:,} {noun}.", (), "checked"),), ()


def by_authors(index: PaperIndex, names: Sequence[str], filters: Filters) -> Composed:
    """All papers of each author, with their number. Filters limit them."""
    sentences: list[Sentence] = []
    cited: dict[str, Citation] = {}
    for name in names:
        wanted = replace(filters, author=name)
        count, papers = index.count(wanted), list(index.papers(wanted, limit=_LISTED))
        for paper in papers:
            cited.setdefault(paper.id, citation(len(cited) + 1, paper))
        spelling = next((author for paper in papers for author in paper.authors if name_key(author) == name_key(name)), name)
        listed = "" if count == len(papers) else f", the first {len(papers)} by title follow"
        total = f"{count} {'paper lists' if count == 1 else 'papers list'} {spelling} as an author{listed}."
        sentences.append(Sentence(total, tuple(cited[paper.id].number for paper in papers), "checked"))
        sentences += [Sentence(entry(paper), (cited[paper.id].number,), "checked") for paper in papers]
    return tuple(sentences), tuple(cited.values())


def entry(paper: Paper) -> str:
    """A line of a list: title, where or when it appeared, and who wrote it."""
    place = paper.venue or (str(paper.year) if paper.year else "")
    names = paper.authors
    written = f"{names[0]} et al." if len(names) > 3 else f"{' and '.join([', '.join(names[:-1])] * (len(names) > 1) + list(names[-1:]))}."
    return f"“{paper.title}”{f' ({place})' if place else ''}, by {written}"


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
