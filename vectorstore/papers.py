"""A paper, its identity, and its passages."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vectorstore.text import clean, sentence_spans, storable

_NO_ABSTRACT = re.compile(
    r"(?:no abstract(?: is)?(?: available| provided)?|(?:abstract (?:is )?)?(?:not available|unavailable|missing)|n/?a|none|null|tba|tbd)?", re.I
)
_AUTHOR_SEPARATOR = re.compile(r"\s*;\s*|\s*,\s*(?:and\s+)?|\s+and\s+")


class RecordError(ValueError):
    """A record that is no paper; the message says which field and why."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One sentence of a paper's abstract: ``text == paper.abstract[start:end]``."""

    paper_id: str
    number: int
    start: int
    end: int
    text: str

    @property
    def id(self) -> str:
        """Key of the passage's vector, unique over the index."""
        return f"{self.paper_id}#{self.number}"


@dataclass(frozen=True)
class Paper:
    """One paper as its source gave it, with the readable title and abstract that are searched and quoted.

    ``id`` is unique in an index; ``year`` is 1000 to 2999 or None; ``url`` is an http(s) address or None.
    """

    id: str
    raw_title: str = field(repr=False)
    raw_abstract: str = field(repr=False)
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str | None = None
    topic: str | None = None
    url: str | None = None

    @cached_property
    def title(self) -> str:
        """Title as readable text."""
        return clean(self.raw_title)

    @cached_property
    def abstract(self) -> str:
        """Abstract as one line of readable text, into which all spans point."""
        return clean(self.raw_abstract)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The abstract's sentences in order; together they cover all its text."""
        return tuple(Passage(self.id, number, start, end, self.abstract[start:end]) for number, (start, end) in enumerate(sentence_spans(self.abstract)))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over everything stored or embedded; equal exactly if nothing has to be written again."""
        stored = [self.id, self.raw_title, self.raw_abstract, self.authors, self.year, self.venue, self.topic, self.url]
        return hashlib.sha256(json.dumps(stored, ensure_ascii=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The paper for JSON output, with readable title and abstract."""
        return {
            "id": self.id,
            "title": self.title,
            "authors": list(self.authors),
            "abstract": self.abstract,
            "year": self.year,
            "venue": self.venue,
            "topic": self.topic,
            "url": self.url,
        }


def paper_from_record(record: object) -> Paper:
    """The paper of a JSON object with at least a title and an abstract; other known fields may be missing or odd.

    Fields: ``id``, ``title``, ``abstract``, ``authors`` (list of names, list of objects with ``name`` or ``fullname``, or one
    string), ``year``, ``venue``, ``topic``, ``url``. Unknown fields are ignored. A paper without an id gets one from all its text.

    Raises:
        RecordError: no object, title or abstract missing or empty, or a field of a wrong type.
    """
    if not isinstance(record, Mapping):
        raise RecordError(f"expected an object with a title and an abstract, got {_shown(record)}")
    title, abstract = _required(record, "title"), _required(record, "abstract")
    if _NO_ABSTRACT.fullmatch(abstract.strip(" \t\r\n.,:;!?()[]{}<>*-–—_'\"")):
        raise RecordError(f"abstract is missing (it reads {abstract.strip()[:40]!r})")
    authors = _authors(record.get("authors"))
    url = _optional(record, "url")
    identity = _optional(record, "id") or hashlib.sha256("\n".join([title, abstract, *authors]).encode("utf-8", "replace")).hexdigest()[:16]
    return Paper(
        id=identity,
        raw_title=storable(title),
        raw_abstract=storable(abstract),
        authors=authors,
        year=_year(record.get("year")),
        venue=_optional(record, "venue"),
        topic=_optional(record, "topic"),
        url=url if url and re.match(r"https?://[^\s/]", url, re.I) else None,
    )


def _required(record: Mapping[str, object], name: str) -> str:
    value = record.get(name)
    if value is None:
        raise RecordError(f"{name} is missing")
    if not isinstance(value, str):
        raise RecordError(f"{name} must be text, got {_shown(value)}")
    if not clean(value):
        raise RecordError(f"{name} is empty")
    return value


def _optional(record: Mapping[str, object], name: str) -> str | None:
    value = record.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if name == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise RecordError(f"{name} must be text, got {_shown(value)}")
    return " ".join(storable(value).split()) or None


def _year(value: object) -> int | None:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    number = value
    if isinstance(value, str) and re.fullmatch(r"\s*\d{4}(?:\.0+)?\s*", value):
        number = float(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 1000 <= number <= 2999 or number != int(number):
        raise RecordError(f"year must be a four-digit number, got {_shown(value)}")
    return int(number)


def _authors(value: object) -> tuple[str, ...]:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ()
    if isinstance(value, str):
        # "Doe, Jane; Roe, Jo" is split at semicolons only; without any, at commas and "and"
        value = re.split(r"\s*;\s*", value) if ";" in value else _AUTHOR_SEPARATOR.split(value)
    if not isinstance(value, list | tuple):
        raise RecordError(f"authors must be a list of names, got {_shown(value)}")
    names = []
    for entry in value:
        name = next((entry[key] for key in ("name", "fullname") if key in entry), None) if isinstance(entry, Mapping) else entry
        if not isinstance(name, str):
            raise RecordError(f"authors must be names, got {_shown(entry)} among them")
        if cleaned := clean(name):
            names.append(cleaned)
    return tuple(names)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
