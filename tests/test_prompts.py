from __future__ import annotations

import re

import pytest

import prompts

PLACEHOLDERS = {
    "answer": set(),
    "baseline": set(),
    "blank": set(),
    "closest": {"titles"},
    "cut-short": {"reason"},
    "empty": set(),
    "fell-back": {"reason"},
    "generate": set(),
    "greeting": {"count"},
    "left-out": {"count"},
    "no-match": set(),
    "not-a-count": set(),
    "refusal": {"count"},
    "thanks": set(),
}


def test_every_prompt_has_exactly_its_placeholders() -> None:
    assert {name: set(re.findall(r"\$\{?(\w+)", prompts.text(name))) for name in prompts.names()} == PLACEHOLDERS


def test_values_are_put_in_literally() -> None:
    assert prompts.fill("closest", titles="$count {x} %s") == "The closest, which may not help: $count {x} %s."


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        prompts.fill("refusal")
