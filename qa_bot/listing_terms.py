"""Words and links that a question looks for in titles and abstracts: reading them from the question, finding them in papers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from qa_bot.listing_snapshot import Entry, plain

Kind = Literal["word", "quoted", "link", "code link"]
Part = Literal["title", "abstract", "either", "both"]
Place = Literal["any", "first", "last"]

_HOSTS = {"github": ("github.com",), "gitlab": ("gitlab.com",), "huggingface": ("huggingface.co",), "hugging face": ("huggingface.co",)}
# Endings of singular and plural; a bare "es" only after a hiss, since "planes" is no plural of "plan".
_PLURALS = (
    *((f"{letter}y", f"{letter}ies") for letter in "bcdfghjklmnpqrtvwxz"),
    *((hiss, f"{hiss}es") for hiss in ("s", "x", "z", "ch", "sh")),
    *(("sis", "ses"), ("ix", "ices"), ("ex", "ices")),
)

_DOMAIN = re.compile(r"\.(?:com|org|io|net|ai|co|science|dev|edu|gov|eu|uk|de|ch|cn|me|page|site|tech|app|xyz)(?:/|\b(?!\.?\w))")
_CODE_HOST = re.compile(r"github\.com|gitlab|bitbucket|codeberg|anonymous\.4open|sourceforge")
_CODE = re.compile(r"\b(?:code|codebase|implementation|implementations|repository|repositories|software|library|package|open-?sourced?)\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")

# A term that holds one of these is no word or phrase but a statement, which no record decides.
_NO_TERM = frozenset(
    """a about all among an another any are as at be been being but by can did do does each else every had has have how i if is it its itself many may more most my neither no nor not on other our
    she should some than that the their them there these they this those up was we were what when where whether which who whose why will with without would you your
    case-sensitive colon digit digits exclamation form forms hyphen link links mark number numbers parentheses plural punctuation singular url urls""".split()
)
_LEAD = re.compile(
    r"^(?:spelled out|spelt out|written out|in full|abbreviated|in short|short(?: for)?|also|or|as|written(?: as)?|sometimes|shortened to|i\.e\.|ie|e\.g\.|aka|a\.k\.a\.|called|known as|both|either|the|a|an|word|words|term|terms|phrase|phrases|itself)\b[\s,:]*",
    re.I,
)
_SAID_OTHERWISE = re.compile(r"^(?:spel\w+ out|written|abbreviated|in (?:full|short)|short|also|or|as|i\.e\.|ie|aka|a\.k\.a\.)[\s,]", re.I)
_REMARK = re.compile(
    r"^(?:(?:case[- ]?insensitive(?:ly)?|in any case|any case|(?:as )?(?:an? )?(?:exact |whole )?(?:words?|phrases?)(?: only)?|exact(?:ly)?)[\s,]*)+$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word, phrase or link. A ``"quoted"`` one is meant letter for letter, a ``"word"`` in singular and plural; both ignore case and hyphens."""

    text: str
    kind: Kind = "word"


@dataclass(frozen=True, slots=True)
class Words:
    """One of ``terms`` must be in that part of the paper: in title, abstract, either of them, or both."""

    terms: tuple[Term, ...]
    part: Part = "either"

    def test(self, *, strict: bool = False) -> Callable[[Entry], bool]:
        """A test whether a paper has one of the terms where they are looked for; ``strict`` in just the form that was asked."""
        finders = [finder(term, strict=strict) for term in self.terms]

        def hold(entry: Entry) -> bool:
            in_title = self.part != "abstract" and any(find(entry.title) for find in finders)
            if self.part == "title" or (self.part == "both" and not in_title) or (self.part == "either" and in_title):
                return in_title
            return any(find(entry.abstract) for find in finders)

        return hold


@dataclass(frozen=True, slots=True)
class Author:
    """An author as the index spells the name; in any place among the authors, or the first or last."""

    name: str
    place: Place = "any"


@dataclass(frozen=True, slots=True)
class Query:
    """Constraints on papers that all must hold.

    All ``authors`` must be authors, with ``any_author`` one of them. ``author_count`` and ``years`` are inclusive ranges, None is open.
    The paper's topic or its area is one of ``topics``, its venue one of ``venues``, if there are any. Each of ``words`` must hold.
    """

    authors: tuple[Author, ...] = ()
    any_author: bool = False
    surnames: tuple[str, ...] = ()
    author_count: tuple[int | None, int | None] | None = None
    topics: tuple[str, ...] = ()
    years: tuple[int | None, int | None] | None = None
    venues: tuple[str, ...] = ()
    words: tuple[Words, ...] = ()

    @property
    def is_authors_alone(self) -> bool:
        """Whether nothing but that all ``authors`` are authors, in any place, must hold."""
        return bool(self.authors) and self == Query(authors=tuple(Author(author.name) for author in self.authors))


def read_terms(run: str, quotes: Mapping[str, str], *, tied: bool = True) -> list[tuple[Term, ...]] | None:
    """The terms of "X or Y", "both X and Y", "X (Y)": groups that must all hold, alternatives within a group; None if these are no terms.

    Args:
        run: the words after "mention" or "the word", up to the end of the clause.
        quotes: what the marks in ``run`` stand for.
        tied: whether "the word" or "in the title" bounds the terms; else they may be the start of a statement, and must be shorter.
    """
    run = re.sub(r"^\s*(?:both|either|any of|one of|all of)\s+", "", run.strip(" ,:.-"), flags=re.I)
    inside: list[str] = []
    run = re.sub(r"\(([^()]{1,120})\)", lambda m: inside.append(m[1]) or "\ue7ff", run)  # type: ignore[func-returns-value]  # append gives None
    every = re.search(r"\band\b(?!/or)|&", run) is not None
    if every and re.search(r"\bor\b(?!/)|/or\b", run):
        return None
    if "," in run and not every and not re.search(r"\bor\b", run):
        return None
    pieces = [piece for piece in re.split(r"\s*(?:,\s*)?(?:\band/or\b|\bor\b|\band\b|&|,)\s*", run, flags=re.I) if piece.strip()]
    alternatives: list[tuple[Term, ...]] = []
    for piece in pieces:
        group = [piece.replace("\ue7ff", " ")]
        for _ in range(piece.count("\ue7ff")):
            remark = inside.pop(0)
            if not _REMARK.match(remark.strip()):
                if not (_SAID_OTHERWISE.match(remark.strip()) or remark.strip() in quotes or _is_abbreviation(group[0], remark)):
                    return None  # as in "diffusion (the generative kind)"
                group += re.split(r"\s*(?:,|;|\bor\b|/)\s*", remark, flags=re.I)
        terms = [_term(text, quotes, tied) for text in group if _LEAD.sub("", text.strip() + " ").strip()]
        if not terms or any(term is None for term in terms):
            return None
        alternatives.append(tuple(term for term in terms if term))
    if not alternatives:
        return None
    return alternatives if every else [tuple(dict.fromkeys(term for group in alternatives for term in group))]


def _is_abbreviation(one: str, other: str) -> bool:
    for short, long in ((one.strip(), other), (other.strip(), one)):
        initials = "".join(part[0] for part in re.findall(r"[^\W_]+", long.lower()))
        if " " not in short and (re.search("[A-Z].*[A-Z]", short) or short.lower().rstrip("s") == initials):
            return True
    return False


def link_terms(named: str) -> tuple[Term, ...]:
    """The terms for a link of which the question says ``named``: "github.com", "GitHub", "code", or nothing."""
    named = named.lower()
    if re.search(r"\w\.\w", named):
        return (Term(named, "quoted"),)
    if named in _HOSTS:
        return tuple(Term(address, "quoted") for address in _HOSTS[named])
    return (Term("link to code", "code link") if named else Term("link", "link"),)


@lru_cache(maxsize=512)
def forms(word: str) -> tuple[str, ...]:
    """``word`` first, then its singular and plural as far as spelling tells; some may be no words, which does no harm."""
    if len(word) < 3 or not word.isalpha():
        return (word,)
    both = [word, *(word[: -len(plural)] + one for one, plural in _PLURALS if word.endswith(plural))]
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "news")):
        both.append(word[:-1])
    for one in tuple(both):
        both += [one[: -len(end)] + plural for end, plural in _PLURALS if one.endswith(end)] + [one + "s"] * (not re.search(r"(?:s|x|z|ch|sh|[^aeiou]y)$", one))
    return tuple(dict.fromkeys(both))


@lru_cache(maxsize=256)
def finder(term: Term, *, strict: bool = False) -> Callable[[str], bool]:
    """A test whether a :func:`plain` text has the term as whole words; ``strict`` in just the form that was asked."""
    if term.kind == "link":
        return _has_link
    if term.kind == "code link":
        return _links_to_code
    words = [word for word in re.split(r"[\s_-]+", plain(term.text)) if word]
    spelled = [(word,) if strict or term.kind == "quoted" else forms(word) for word in words]
    joined = r"[\s_-]{1,3}".join(f"(?:{'|'.join(map(re.escape, options))})" for options in spelled)
    pattern = re.compile(rf"(?<![^\W_]){joined}(?![^\W_])")
    probe = max(map(_shared_start, spelled), key=len, default="")  # a plain search first is ten times as fast
    return lambda text: probe in text and pattern.search(text) is not None


def _shared_start(words: tuple[str, ...]) -> str:
    first, last = min(words), max(words)
    return next(first[:size] for size in range(len(first), -1, -1) if last.startswith(first[:size]))


def _has_link(text: str) -> bool:
    return "://" in text or "www." in text or _DOMAIN.search(text) is not None


def _links_to_code(text: str) -> bool:
    return _has_link(text) and any(_has_link(sentence) and (_CODE_HOST.search(sentence) or _CODE.search(sentence)) for sentence in _SENTENCE_END.split(text))


def _term(text: str, quotes: Mapping[str, str], tied: bool) -> Term | None:
    before = ""
    text = text.strip(" ,:.-'")
    while text != before:
        before, text = text, _LEAD.sub("", text).strip()
    if text in quotes:
        return Term(quotes[text], "quoted")
    words = text.split()
    banned = _NO_TERM if tied else _NO_TERM | {"from"}
    if not 1 <= len(words) <= (6 if tied else 4) or any(word.lower() in banned for word in words) or re.search("[\ue000-\uf8ff()]", text):
        return None
    return Term(text) if re.search(r"[^\W_]", text) else None
