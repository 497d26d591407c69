"""The catalogue as lists and counts read it: folded texts of all papers, and the authors, topics and venues that a question may name."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from weakref import WeakKeyDictionary

from vectorstore import Paper, PaperIndex
from vectorstore.text import fold, name_key, search_text

_LONG = 6
_ALIKE = 0.8
_ALIKE_SHORT = 0.75
"""A slip in a name is a ratio of at least this; five letters or fewer, as in Chen and Cheng, are a slip only beside a part that one author alone has."""

_MARKS = re.compile("[\u0300-\u036f]+")
_YEAR_AT_END = re.compile(r"\W*\b[12]\d{3}\W*$")


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper folded for comparing: :func:`plain` title and abstract, keys of its authors in order, venue and topic as they stand."""

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...]
    year: int | None
    venue: str | None
    topic: str | None


class Snapshot:
    """All papers of an index at one moment, by title."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        self.spellings: dict[str, str] = {}
        self.entries: list[Entry] = []
        for paper in papers:
            entry = folded(paper)
            for key, author in zip(entry.authors, paper.authors, strict=True):
                self.spellings.setdefault(key, author)
            self.entries.append(entry)

    @cached_property
    def venues(self) -> dict[str, tuple[str, ...]]:
        """Venues by folded name, and by their name without a year at its end: "icml" stands for ICML 2025 and ICML 2026."""
        named: dict[str, set[str]] = defaultdict(set)
        for venue in {entry.venue for entry in self.entries if entry.venue}:
            named[fold(venue)].add(venue)
            named[fold(_YEAR_AT_END.sub("", venue)) or fold(venue)].add(venue)
        return {name: tuple(sorted(venues)) for name, venues in named.items()}

    @cached_property
    def topics(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """The topics or areas that a name means, by the name's :func:`topic_words`.

        A whole path means itself. Its last part alone means every topic that ends so, unless an area has that name: "Robustness" is two
        topics in ICML's list, "Optimization" the area.
        """
        paths = {entry.topic for entry in self.entries if entry.topic}
        areas = {topic.rsplit("->", 1)[0] for topic in paths if "->" in topic}
        named: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for topic in paths | areas:
            named[topic_words(topic)].add(topic)
        for topic in paths - areas:
            last = topic_words(topic.split("->")[-1])
            if not named[last] & areas:
                named[last].add(topic)
        return {words: tuple(sorted(topics)) for words, topics in named.items() if words}

    @cached_property
    def topic_pattern(self) -> str:
        """A pattern for the names of :attr:`topics`, the longest first; "Convex" isn't found in "Non-Convex", nor a part in an unknown path."""
        names = sorted(self.topics, key=lambda words: (-len(" ".join(words)), words))
        joined = "|".join(r"(?:\W|\band\b){1,8}?".join(map(re.escape, words)) for words in names)
        return rf"(?<![\w>→-])(?:{joined or '(?!)'})(?![\w-])(?!\s*(?:->|→|>))"

    @cached_property
    def _holders(self) -> dict[str, set[str]]:
        holders: dict[str, set[str]] = defaultdict(set)
        for key in self.spellings:
            for part in key.split():
                holders[part].add(key)
            holders[_initials(key.split())].add(key)
        return holders

    @cached_property
    def _orders(self) -> dict[tuple[str, ...], set[str]]:
        orders: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for key in self.spellings:
            orders[tuple(sorted(key.split()))].add(key)
        return orders

    def author(self, name: str) -> str | None:
        """The author with exactly this name, or with its parts in another order, as the index spells it."""
        key = name_key(name)
        if key in self.spellings:
            return self.spellings[key]
        keys = self._orders.get(tuple(sorted(key.split())), set())
        return self.spellings[next(iter(keys))] if len(keys) == 1 and " " in key else None

    def near(self, name: str) -> list[str]:
        """Authors who may be meant by ``name``: those with the same name but for initials and hyphens, else those a slip away."""
        parts = name_key(name).split()
        candidates = {key for part in (*parts, _initials(parts)) for key in self._holders.get(part, ())}
        for slips in (False, True):
            if found := sorted(key for key in candidates if self._is_near(parts, key.split(), slips)):
                return [self.spellings[key] for key in found]
        return []

    def _is_near(self, parts: list[str], others: list[str], slips: bool) -> bool:
        if "".join(parts) == "".join(others):
            return True
        asked, known = _without_middle_initials(parts), _without_middle_initials(others)
        orders = (known,) if slips else (known, known[1:] + known[:1], known[-1:] + known[:-1])  # "Wei Chenn" is not Cheng'an Wei
        return len(asked) == len(known) and any(self._pairs_match(asked, order, slips) for order in orders)

    def _pairs_match(self, asked: list[str], known: list[str], slips: bool) -> bool:
        same = [a for a, b in zip(asked, known, strict=True) if a == b and len(a) > 1]
        alone = any(len(self._holders.get(part, ())) == 1 for part in same)
        for a, b in zip(asked, known, strict=True):
            initial = bool(same) and min(len(a), len(b)) == 1 and a[0] == b[0]
            if a != b and not initial and not (slips and _is_slip(a, b, alone)):
                return False
        return True


def snapshot(index: PaperIndex) -> Snapshot:
    """The snapshot of ``index`` as it is now; it is read again only after a write."""
    count = index.count()  # also opens the files anew if another process has written
    stamp = (index.manifest.store, index.manifest.generation, count)
    kept = _KEPT.get(index)
    if kept is None or kept[0] != stamp:
        kept = _KEPT[index] = (stamp, Snapshot(index.papers()))
    return kept[1]


def folded(paper: Paper) -> Entry:
    """The entry of ``paper``."""
    keys = tuple(name_key(author) for author in paper.authors)
    return Entry(paper.id, plain(paper.title), plain(paper.abstract), keys, paper.year, paper.venue, paper.topic)


def plain(text: str) -> str:
    """``text`` for finding words: lower case, accents folded, one kind of dash and quote."""
    return _MARKS.sub("", unicodedata.normalize("NFKD", search_text(text))).lower()


def topic_words(name: str) -> tuple[str, ...]:
    """Words of a topic's name without arrows, commas and "and"."""
    return tuple(word for word in re.findall(r"[^\W_]+", fold(name)) if word != "and")


def word_runs(text: str, longest: int = 4) -> Iterator[tuple[int, int, str]]:
    """Runs of ``longest`` to two words that may be a name: start, end, and the name without a possessive "'s"."""
    words = [(match.start(), match.end(), match[0]) for match in re.finditer(r"[^\W\d_](?:[\w.-]|'(?!s\b))*", text)]
    for size in range(longest, 1, -1):
        for at in range(len(words) - size + 1):
            run = words[at : at + size]
            yield run[0][0], run[-1][1], " ".join(word for _, _, word in run).rstrip(".,-")


def _initials(parts: list[str]) -> str:
    return "~" + "".join(sorted(part[0] for part in parts))


def _without_middle_initials(parts: list[str]) -> list[str]:
    return [part for at, part in enumerate(parts) if len(part) > 1 or at in (0, len(parts) - 1)]


def _is_slip(a: str, b: str, alone: bool) -> bool:
    if min(len(a), len(b)) < 3:
        return False
    if sorted(a) == sorted(b):
        return a[0] == b[0]
    ratio = SequenceMatcher(None, a, b, autojunk=False).ratio()
    return ratio >= _ALIKE if max(len(a), len(b)) >= _LONG else alone and ratio >= _ALIKE_SHORT and a[0] == b[0]


_KEPT: WeakKeyDictionary[PaperIndex, tuple[tuple[str, int, int], Snapshot]] = WeakKeyDictionary()
