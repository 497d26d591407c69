"""Questions with the sentences that answer them, to fit sentence selection on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_bot.errors import QuestionSetError
from qa_bot.evaluate.facts import normalised

_LEAST_ALIKE = 0.5


class Evidence(BaseModel):
    """A training question: ``evidence`` are the sentences that are needed, ``also_evidence`` those that answer it alone; none for a near-miss."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    question: str = Field(min_length=1)
    paper: str
    evidence: tuple[str, ...] = ()
    also_evidence: tuple[str, ...] = ()


def load_evidence(source: Path) -> list[Evidence]:
    """Training questions from JSON Lines.

    Raises:
        QuestionSetError: unreadable, empty, or a line with a missing or wrong field.
    """
    try:
        lines = source.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionSetError(f"{source}: can't be read ({getattr(error, 'strerror', None) or error})") from None
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(Evidence.model_validate_json(line))
            except ValidationError as error:
                first = error.errors()[0]
                raise QuestionSetError(f"{source}:{number}: {'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg'].lower()}") from None
    if not found:
        raise QuestionSetError(f"{source}: holds no training questions")
    return found


def words(text: str) -> set[str]:
    """The words of ``text``, normalised, to find a quoted sentence again."""
    return set(normalised(text).split())


def best_matches(sentences: Sequence[set[str]], wanted: Sequence[set[str]]) -> set[int]:
    """Places of the sentences that are most like each of the wanted ones, by shared words; those half alike or more."""
    marks = set()
    for sought in wanted:
        alike = [len(sought & sentence) / max(1, len(sought | sentence)) for sentence in sentences]
        best = max(range(len(alike)), key=alike.__getitem__)
        if alike[best] >= _LEAST_ALIKE:
            marks.add(best)
    return marks
