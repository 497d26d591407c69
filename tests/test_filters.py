from __future__ import annotations

import pytest

from vectorstore import FilterError, Filters


def test_conditions_are_parsed() -> None:
    assert Filters.parse(["year=2020-2022", "venue=ICML 2026", "topic=Privacy", "author=Ada Pebble", "id=a", "id=b"]) == Filters(
        (2020, 2022), "ICML 2026", "Privacy", "Ada Pebble", ("a", "b")
    )
    assert Filters.parse(["year = 2026"]) == Filters(years=(2026, 2026))
    assert not Filters.parse([])


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("color=red", "unknown filter field 'color'; the fields are year, venue, topic, author, id, as in --filter year=2026"),
        ("year", "filter 'year' has no value; write it as year=VALUE"),
        ("venue=", "filter 'venue=' has no value; write it as venue=VALUE"),
        ("year=soon", "year 'soon' is not a year; write year=2026 or year=2020-2022"),
        ("year=2022-2020", "year range '2022-2020' runs backwards; write year=2020-2022"),
    ],
)
def test_bad_conditions_are_named(condition: str, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        Filters.parse([condition])
    assert (str(caught.value), caught.value.usage) == (message, True)


def test_a_field_twice_is_refused() -> None:
    with pytest.raises(FilterError, match="given twice"):
        Filters.parse(["venue=A", "venue=B"])
