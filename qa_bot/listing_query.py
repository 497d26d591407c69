"""What a question asks of the whole catalogue: reading "how many papers by Ada Pebble mention shells in the title?" as constraints.

Each constraint that is understood is cut out of the question, a mark put in its place. What is left over must be words that say nothing but
"list the papers"; any other word means that the question asks for more than the records can decide, and it is not a query.
"""

from __future__ import annotations

import re
from dataclasses import replace

from qa_bot import listing_grammar as grammar
from qa_bot.listing_snapshot import Snapshot, snapshot, topic_words, word_runs
from qa_bot.listing_terms import Author, Part, Query, Term, Words, link_terms, read_terms
from vectorstore import PaperIndex
from vectorstore.text import fold, name_key

_MAX_CHARS = 1000


def parse(question: str, index: PaperIndex) -> Query | None:
    """The query that a question makes, or None if it isn't one for a number or list of papers, or asks for more than the records decide.

    Example:
        >>> parse("How many papers by Ada Pebble have 'shells' in the title?", index)
        Query(authors=(Author(name='Ada Pebble', place='any'),), …, words=(Words(terms=(Term(text='shells', kind='quoted'),), part='title'),))
    """
    if len(question) > _MAX_CHARS or not grammar.SUBJECT.search(question):
        return None
    return _Reading(question, snapshot(index)).query()


class _Reading:
    """A question on its way to a query: :attr:`text` is what is not understood yet, with marks for what is."""

    def __init__(self, question: str, known: Snapshot) -> None:
        self.known = known
        self.text = " ".join(re.sub("[\ue000-\uf8ff]", " ", question).replace("’s", "'s").split())
        self.quotes: dict[str, str] = {}
        self.parts: dict[str, Part] = {}
        self.nouns: dict[str, Part] = {}
        self.authors: dict[str, Author] = {}
        self.used: set[str] = set()
        self.lists_titles = ""
        self.found = Query()

    def query(self) -> Query | None:
        for step in (self._read_topics, self._read_surnames, self._read_quotes, self._read_parts, self._read_author_count, self._read_authors):
            step()
        for step in (self._read_venues, self._read_years, self._read_links, self._read_occurrences, self._read_mentions, self._read_misspelt_authors):
            step()
        self._read_places()
        named = [self.authors[mark] for mark in re.findall(grammar.A, self.text)]
        self.found = replace(self.found, authors=tuple(dict.fromkeys(named)))
        return self.found if self.found != Query() and self._is_all_read() else None

    def _cut(self, start: int, end: int, mark: str = grammar.DONE) -> None:
        self.text = f"{self.text[:start]} {mark}{self.text[end:]}"

    def _read_topics(self) -> None:
        at, topics, name = 0, self.found.topics, self.known.topic_pattern
        while match := re.compile(name, re.I).search(self.text, at):
            nearby = max(at, match.start() - 80)
            before, after = grammar.TIE.search(self.text[nearby : match.start()]), grammar.TIED_AFTER.match(self.text, match.end())
            at = match.end()
            start = nearby + before.start() if before else match.start()
            if not (after or grammar.SETTLED_TIE.search(match[0]) or (before and (before["verb"] or before["under"] or before["noun"]))):
                continue
            end = after.end() if after else match.end()
            topics += self.known.topics[topic_words(match[0])]
            while more := re.compile(rf"[\"'”’]?\s*(?:,|\bor\b|\band\b|/)\s*(?:(?:or|under|the|topic)\s+)*[\"'“‘]?({name})", re.I).match(self.text, end):
                topics += self.known.topics[topic_words(more[1])]
                end = more.end()
            if excluded := re.compile(rf"[\"'”’]?{grammar.NEGATED}[\"'“‘]?(?:{name})[\"'”’]?\s*\)?", re.I).match(self.text, end):
                end = excluded.end()  # a paper has one topic: that it isn't another one adds nothing
            end += self.text[end : end + 1] in tuple("\"'”’")
            self._cut(start, end)
            at = start
        self.found = replace(self.found, topics=tuple(dict.fromkeys(topics)))

    def _read_surnames(self) -> None:
        at = 0
        while match := grammar.SURNAME.search(self.text, at):
            name = match["name"] or match["called"] or match["as"] or match["first"]
            at = match.end()
            following = re.match(r"\s+([^\W\d_][\w-]*)", self.text[at:])
            whole = match["called"] and following and self.known.author(f"{name} {following[1]}")
            if not whole and name.lower() not in grammar.FILLER:
                self.found = replace(self.found, surnames=(*self.found.surnames, name))
                self._cut(match.start(), at)
                at = match.start()

    def _read_quotes(self) -> None:
        def mark(match: re.Match[str]) -> str:
            inside = " ".join(next(group for group in match.groups() if group is not None).strip(" ,.?!").split())
            if not inside or (self.known.author(inside) and re.search(r"\bby\s+$", self.text[: match.start()], re.I)):
                return f" {inside} "
            self.quotes[name := chr(ord(grammar.QUOTE) + len(self.quotes))] = inside
            return f" {name} "

        self.text = grammar.WHERE.sub(" ", grammar.QUOTED.sub(mark, self.text))

    def _read_parts(self) -> None:
        def mark(match: re.Match[str], first: str, parts: dict[str, Part]) -> str:
            one, two = (noun.lower().rstrip("s") if noun else "" for noun in (match["one"], match["two"]))
            every = match["join"] in ("and", "&", "as well as") and bool(match.groupdict().get("both") or not match["one"].lower().endswith("s"))
            name = chr(ord(first) + len(parts))
            parts[name] = ("both" if every else "either") if two and two != one else "title" if one == "title" else "abstract"
            if match[0].lower() == "titles":
                self.lists_titles = name  # "list the titles" asks for no more than a list of papers
            return name

        self.text = grammar.PARTS.sub(lambda match: mark(match, grammar.PART, self.parts), self.text)
        self.text = grammar.NOUNS.sub(lambda match: mark(match, grammar.NOUN, self.nouns), self.text)

    def _read_author_count(self) -> None:
        if not (match := grammar.SEVERAL_AUTHORS.search(self.text)):
            return
        bound, after = (match["bound"] or "").lower(), (match["after"] or "").lower()
        if match["low"] or match["from"]:
            low, high = grammar.number(match["low"] or match["from"]), grammar.number(match["high"] or match["to"])
            if match["range"] == "or" and high != low + 1:
                return
        else:
            low = high = grammar.number(match["number"])
        count: tuple[int, int | None] = (low, high)
        if bound in ("at least", "no fewer than", "no less than") or after == "or more" or match["number"] in ("multiple", "several"):
            count = (low, None)
        elif bound in ("more than", "over", "above"):
            count = (low + 1, None)
        elif bound in ("at most", "no more than", "not more than", "up to") or after in ("or fewer", "or less"):
            count = (1, high)
        elif bound in ("fewer than", "less than", "under", "below"):
            count = (1, high - 1)
        self.found = replace(self.found, author_count=count)
        self._cut(match.start(), match.end())

    def _read_authors(self) -> None:
        taken: list[tuple[int, int, str]] = []
        for start, end, name in word_runs(self.text):
            free = all(end <= other[0] or other[1] <= start for other in taken)
            if free and not grammar.is_filler(name) and (author := self.known.author(name)) and not self._is_looked_for(start, end):
                taken.append((start, end, author))
        for start, end, author in sorted(taken, reverse=True):
            self._name(start, end, author)

    def _is_looked_for(self, start: int, end: int) -> bool:
        before = re.search(r"\b(?:mention\w*|contain\w*|words?|phrases?|terms?)\s+(?:the\s+)?(?:name\s+)?$", self.text[:start], re.I)
        return before is not None and not re.match(r"\s+(?:as|among)\b", self.text[end:])

    def _name(self, start: int, end: int, author: str) -> None:
        mark = chr(ord(grammar.AUTHOR) + len(self.authors))
        self.authors[mark] = Author(author)
        self._cut(start, end, mark)

    def _read_venues(self) -> None:
        names = "|".join(r"\s+".join(map(re.escape, name.split())) for name in sorted(self.known.venues, key=len, reverse=True))
        if names and (match := re.compile(grammar.VENUE.replace("NAMES", names), re.I).search(self.text)):
            sure = match["tie"] or match["kind"] or (match["noun"] is not None and match["name"] != match["name"].lower())
            if sure and (match["tie"] != "in" or match["name"] != match["name"].lower() or re.search(r"\d", match["name"])):
                venues = self.known.venues[fold(match["name"])]
                if match["year"]:  # "ICML 2025" of an index that has ICML 2026 alone is a venue without papers
                    venues = tuple(venue for venue in venues if match["year"] in venue) or (f"{match['name']} {match['year']}",)
                self.found = replace(self.found, venues=venues)
                self._cut(match.start(), match.end())

    def _read_years(self) -> None:
        for pattern, span in grammar.YEARS:
            if self.found.years is None and (match := pattern.search(self.text)) and (years := span([int(year) for year in match.groups() if year])):
                self.found = replace(self.found, years=years)
                self._cut(match.start(), match.end())

    def _read_links(self) -> None:
        while match := grammar.LINK.search(self.text):
            following = self.text[match.end() :].lstrip()[:1]
            part = self.parts.get(following) or self._used_part(self._noun_before(match.start())) or "abstract"
            self._look_for([link_terms(match["on"] or match["host"] or match["to"] or "")], part, match.start(), match.end(), following)

    def _read_occurrences(self) -> None:
        at = 0
        while match := grammar.OCCURRENCE.search(self.text, at):
            at = match.start() + 1
            following = self.text[match.end() :].lstrip()[:1]
            noun = re.search(grammar.N, self.text[: match.start()]) or re.match(
                rf"\s*in (?:how many|which|any|some) (?:of the )?({grammar.N})", self.text[match.end() :]
            )
            part = self.parts.get(following) or (self.nouns[noun[0][-1]] if noun else None)
            sure = match["marked"] or part or match["term"] in self.quotes or match["verb"].lower().endswith("mentioned")
            if sure and (groups := read_terms(match["term"], self.quotes)):
                self._used_part(noun[0][-1] if noun else "")
                self._look_for(groups, part or "either", match.start(), match.end(), following)

    def _read_mentions(self) -> None:
        at = 0
        while match := grammar.VERB.search(self.text, at):
            at = match.end()
            stop = grammar.STOP.search(self.text, at)
            run = self.text[at : stop.start() if stop else len(self.text)]
            bare = re.sub(
                r"(?:[\s,]*\b(?:and|are|that|by|from|in|of|is|were|was|with|have|has|which|also|written|published|them|it))+[\s,]*$", "", run, flags=re.I
            )
            following = stop[0] if stop and stop[0] in self.parts else ""
            noun = self._noun_before(match.start())
            adjacent = re.search(rf"{grammar.N}\s*(?:(?:that|which|do|does|also|to)\s+)*$", self.text[: match.start()])
            quoted = bool(bare.strip()) and not re.search(r"[^\W_]", re.sub(r"\b(?:or|and)\b|" + grammar.Q, "", bare))
            tied = match["marked"] or following or quoted or adjacent
            if not bare.strip() or not (tied or match["strong"]):
                continue
            loose = not (tied or noun)  # "mention X" alone may be the start of a statement, so it must be short and ask for several papers
            if loose and (re.search(rf"\b(?:which|what|the) {grammar.PAPER}\b", self.text, re.I) or re.search(r"\d\.\d|%|^\s*an?\b", bare)):
                continue
            groups = read_terms(bare, self.quotes, tied=not loose)
            if not groups:
                continue
            self._look_for(groups, self.parts.get(following) or self._used_part(noun) or "either", match.start(), at + len(bare), following)
            while more := re.compile(grammar.MORE_WORDS).search(self.text):
                if grammar.VERB.search(more["run"] + " ") or not (groups := read_terms(more["run"], self.quotes)):
                    break
                self._look_for(groups, self.parts[more["part"]], more.start("run"), more.end("run"), more["part"])
            at = match.start()

    def _noun_before(self, at: int) -> str:
        return next(reversed(re.findall(grammar.N, self.text[:at])), "")

    def _used_part(self, noun: str) -> Part | None:
        self.used.add(noun)
        return self.nouns.get(noun)

    def _look_for(self, groups: list[tuple[Term, ...]], part: Part, start: int, end: int, following: str) -> None:
        self.found = replace(self.found, words=self.found.words + tuple(Words(terms, part) for terms in groups))
        rest = self.text[end:]
        self.text = f"{self.text[:start]} {grammar.DONE} {rest.replace(following, '', 1) if following in self.parts else rest}"

    def _read_misspelt_authors(self) -> None:
        groups: list[list[re.Match[str]]] = [[]]
        for word in re.finditer(r"[^\W\d_](?:[\w.-]|'(?!s\b))*", self.text):
            if grammar.is_filler(word[0]) and not re.fullmatch(r"[A-Z]\.", word[0]):  # "A." of A. Pebble is no article
                groups.append([])
            elif groups[-1] and not self.text[groups[-1][-1].end() : word.start()].strip(" ,"):
                groups[-1].append(word)
            else:
                groups.append([word])
        for group in reversed([group for group in groups if group]):
            start, end = group[0].start(), group[-1].end()
            name = self.text[start:end].rstrip(".,-")
            if not 2 <= len(name_key(name).split()) <= 5:
                continue
            near = self.known.near(name)
            if len(near) == 1:
                self._name(start, end, near[0])
            elif not near and re.search(r"\bby\s+$", self.text[:start], re.I) and all(word[0][0].isupper() for word in group):
                self._name(start, end, name)  # nobody of that name: no paper, which is exact

    def _read_places(self) -> None:
        for pattern, author, place in grammar.PLACES:
            while match := pattern.search(self.text):
                last = match[place].lower() in ("last", "senior")
                self.authors[match[author]] = replace(self.authors[match[author]], place="last" if last else "first")
                self._cut(match.start(), match.end(), match[author])
        either = rf"({grammar.A})(?:'s)?\s*,?\s*\b(?:and/or|or)\s+(?:by\s+)?(?={grammar.A})"
        if re.search(either, self.text) and not re.search(rf"{grammar.A}\s*,?\s*and\s+{grammar.A}", self.text):
            self.found = replace(self.found, any_author=True)
            self.text = re.sub(either, r"\1 ", self.text)

    def _is_all_read(self) -> bool:
        idle = set(re.findall(f"{grammar.Q}|{grammar.P}|{grammar.N}", self.text)) - self.used - {self.lists_titles}
        rest = grammar.SAID_TWICE.sub(" ", " ".join(self.text.split()))
        return not idle and not grammar.POINTED.search(rest) and all(grammar.is_filler(word) for word in re.findall(r"[^\W_]+", rest))
