"""Answers that the catalogue alone gives, exact and without a search: totals, the papers of authors, counts and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qa_bot import listing, records
from qa_bot.records import Composed
from vectorstore import Filters, PaperIndex

_JOINTLY = re.compile(r"\b(?:together|both|joint(?:ly)?|co-?author\w*|co-?wr[io]t\w*|collaborat\w*)\b", re.I)


def from_catalogue(index: PaperIndex, question: str, named: Sequence[tuple[int, int, str]], filters: Filters) -> Composed | None:
    """The answer, or None if the question asks for more than the records decide.

    Args:
        index: the papers.
        question: what was asked.
        named: authors of the index whose names stand in it, as :func:`qa_bot.records.authors_named` finds them.
        filters: limit what is counted and listed.
    """
    if records.is_about_total(question):
        return records.total(index, filters)
    names = [name for _, _, name in named]
    # by_authors finds its papers by the author filter, so it can't be used under another one
    each = not filters.author and (len(names) == 1 or not _JOINTLY.search(question))
    if each and records.is_about_authorship(question, named):
        return records.by_authors(index, names, filters)
    query = listing.parse(question, index)
    if query is None:
        return None
    if each and query.is_authors_alone:
        return records.by_authors(index, [author.name for author in query.authors], filters)
    return listing.compose(query, listing.matching(query, index, filters), filtered=bool(filters))
