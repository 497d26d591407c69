"""Which papers to search: conditions on their catalogue fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from vectorstore.errors import FilterError
from vectorstore.text import fold, name_key, storable

FIELDS = ("year", "venue", "topic", "author", "id")


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that must all hold; an empty one holds for every paper.

    ``years`` is an inclusive range. ``venue`` and ``author`` compare whole names, ``topic`` a topic or the area above it
    (``"Social Aspects"`` holds for ``"Social Aspects->Privacy"``, ``"unknown"`` for papers without topic); case and
    accents don't count, nor dots and hyphens in a name. ``ids`` lists paper ids.
    """

    years: tuple[int, int] | None = None
    venue: str | None = None
    topic: str | None = None
    author: str | None = None
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Filters()

    @classmethod
    def parse(cls, conditions: Iterable[str]) -> Filters:
        """Filters from ``field=value`` texts: ``year=2026``, ``year=2020-2022``, ``venue=…``, ``topic=…``, ``author=…``, ``id=…``.

        Raises:
            FilterError: unknown field, empty value, a field given twice (except ``id``), or no year.
        """
        values: dict[str, str] = {}
        ids: list[str] = []
        for condition in conditions:
            name, equals, value = (part.strip() for part in storable(condition).partition("="))
            if name not in FIELDS:
                raise FilterError(f"unknown filter field {name!r}; the fields are {', '.join(FIELDS)}, as in --filter year=2026")
            if not equals or not value:
                raise FilterError(f"filter {condition!r} has no value; write it as {name}=VALUE")
            if name == "id":
                ids.append(value)
            elif name in values:
                raise FilterError(f"filter field {name!r} is given twice ({values[name]!r} and {value!r}); give it once")
            else:
                values[name] = value
        years = _years(values["year"]) if "year" in values else None
        return cls(years, values.get("venue"), values.get("topic"), values.get("author"), tuple(ids))

    def to_sql(self) -> tuple[str, list[object]]:
        """An SQL condition over the catalogue's ``papers`` table and its parameters."""
        clauses: list[str] = []
        values: list[object] = []
        if self.years:
            clauses.append("year BETWEEN ? AND ?")
            values += self.years
        if self.venue:
            clauses.append("venue_key = ?")
            values.append(fold(self.venue))
        if self.topic:
            key = fold(self.topic)
            clauses.append("(topic_key = ? OR substr(topic_key, 1, ?) = ?)")
            values += [key, len(key) + 2, key + "->"]
        if self.author:
            clauses.append("row IN (SELECT row FROM authors WHERE key = ?)")
            values.append(name_key(self.author))
        if self.ids:
            clauses.append("id IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(self.ids))
        return " AND ".join(clauses) or "1", values


def _years(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{4})(?:\s*[-–:]\s*(\d{4}))?", text)
    if not match:
        raise FilterError(f"year {text!r} is not a year; write year=2026 or year=2020-2022")
    low, high = int(match[1]), int(match[2] or match[1])
    if low > high:
        raise FilterError(f"year range {text!r} runs backwards; write year={high}-{low}")
    return low, high
