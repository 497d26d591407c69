"""Answers over the whole catalogue: how many papers there are, and which, of an author, topic, year or venue, or with a word.

:func:`parse` reads the question, :func:`matching` finds the papers, :func:`compose` writes the answer; all are exact, none needs the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from qa_bot import records
from qa_bot.answer import Citation, Sentence, citation
from qa_bot.listing_query import parse
from qa_bot.listing_snapshot import Entry, folded, snapshot
from qa_bot.listing_terms import Author, Query, Term, Words
from vectorstore import Filters, Paper, PaperIndex
from vectorstore.text import name_key

__all__ = ["Author", "Query", "Term", "Words", "compose", "matching", "parse"]

_LISTED = 50

Test = Callable[[Entry], bool]


def matching(query: Query, index: PaperIndex, filters: Filters = Filters()) -> list[Paper]:
    """All papers for which the query holds, of those that ``filters`` leave, by title."""
    tests = _tests(query)
    ids = {entry.id for entry in snapshot(index).entries if all(test(entry) for test in tests)}
    if filters.ids:
        ids &= set(filters.ids)
    return list(index.papers(replace(filters, ids=tuple(sorted(ids))))) if ids else []


def compose(query: Query, papers: Sequence[Paper], *, filtered: bool = False) -> tuple[tuple[Sentence, ...], tuple[Citation, ...]]:
    """The number of papers and what they have in common, then a line for each, for the first 50 if there are more.

    Args:
        query: what was asked.
        papers: what :func:`matching` found for it.
        filtered: whether filters limited them, which the answer then says.
    """
    listed = papers[:_LISTED]
    citations = tuple(citation(number, paper) for number, paper in enumerate(listed, 1))
    one = len(papers) < 2
    total = f"{len(papers):,} {'paper' if one else 'papers'}" if papers else "No paper"
    follow = f"; the first {_LISTED} by title follow" if len(papers) > _LISTED else ""
    within = "Of those that match the filters, " if filtered else ""
    total = total[:1].lower() + total[1:] if filtered else total
    stated = f"{within}{total} {_joined(_predicates(query, papers, one), 'and')}{follow}."
    sentences = [Sentence(stated, tuple(cited.number for cited in citations), "checked")]
    sentences += [Sentence(records.entry(paper), (number,), "checked") for number, paper in enumerate(listed, 1)]
    return tuple(sentences), citations


def _tests(query: Query) -> list[Test]:
    tests: list[Test] = [_topic_test(query.topics)] if query.topics else []
    if query.authors:
        some = any if query.any_author else all
        wanted = [(name_key(author.name), {"any": slice(None), "first": slice(1), "last": slice(-1, None)}[author.place]) for author in query.authors]
        tests.append(lambda entry: some(key in entry.authors[place] for key, place in wanted))
    for surname in query.surnames:
        tests.append(_surname_test(name_key(surname)))
    if query.author_count:
        tests.append(_range_test(query.author_count, lambda entry: len(entry.authors)))
    if query.years:
        tests.append(_range_test(query.years, lambda entry: entry.year))
    if query.venues:
        tests.append(lambda entry: entry.venue in query.venues)
    return tests + [words.test() for words in query.words]


def _topic_test(topics: tuple[str, ...]) -> Test:
    return lambda entry: entry.topic is not None and any(entry.topic == topic or entry.topic.startswith(topic + "->") for topic in topics)


def _surname_test(key: str) -> Test:
    return lambda entry: any(author == key or author.endswith(" " + key) for author in entry.authors)


def _range_test(limits: tuple[int | None, int | None], value: Callable[[Entry], int | None]) -> Test:
    low, high = limits
    return lambda entry: (at := value(entry)) is not None and (low is None or at >= low) and (high is None or at <= high)


def _predicates(query: Query, papers: Sequence[Paper], one: bool) -> list[str]:
    has, is_ = ("has", "is") if one else ("have", "are")
    said: list[str] = []
    for place, noun in (("any", "an author"), ("first", "first author"), ("last", "last author")):
        if names := [author.name for author in query.authors if author.place == place]:
            several = len(names) > 1 and place == "any" and not query.any_author
            said.append(f"{'lists' if one else 'list'} {_joined(names, 'or' if query.any_author else 'and')} as {'authors' if several else noun}")
    said += [f"{has} an author with the surname {surname}" for surname in query.surnames]
    if query.author_count:
        said.append(f"{has} {_count(*query.author_count)}")
    if query.topics:
        said.append(f"{is_} filed under {_joined(query.topics, 'or')}")
    if query.years:
        said.append(f"{is_} from {_span(*query.years)}")
    if query.venues:
        said.append(f"appeared at {_joined(query.venues, 'or')}")
    if query.words:
        said.append(f"{has} {_joined([_looked_for(words, papers) for words in query.words], 'and')}")
    return said


def _looked_for(words: Words, papers: Sequence[Paper]) -> str:
    where = {"title": "the title", "abstract": "the abstract", "either": "the title or abstract", "both": "both title and abstract"}[words.part]
    addresses = [term for term in words.terms if term.kind in ("link", "code link")]
    if addresses:
        return f"a {addresses[0].text} in {where}"
    texts = [term.text for term in words.terms]
    noun = "text" if any("." in text for text in texts) else "phrase" if all(" " in text for text in texts) else "word"
    strict = words.test(strict=True)
    other = "" if all(strict(folded(paper)) for paper in papers) else " (singular or plural)"
    return f"the {noun}{'s' * (len(texts) > 1)} {_joined([f'“{text}”' for text in texts], 'or')}{other} in {where}"


def _count(low: int | None, high: int | None) -> str:
    if low == high:
        return f"exactly {low} {'author' if low == 1 else 'authors'}"
    if high is None:
        return f"at least {low} authors"
    return f"at most {high} {'author' if high == 1 else 'authors'}" if low in (None, 0, 1) else f"{low} to {high} authors"


def _span(low: int | None, high: int | None) -> str:
    if low == high:
        return str(low)
    return f"{low} or later" if high is None else f"{high} or earlier" if low is None else f"{low} to {high}"


def _joined(parts: Sequence[str], word: str) -> str:
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
