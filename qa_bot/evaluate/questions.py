"""Test questions: their fields, and reading them from JSON Lines."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_bot.errors import QuestionSetError

BUNDLED = "seeds-dev.jsonl"


class Message(BaseModel):
    """An earlier message of the conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant"]
    content: str


class Question(BaseModel):
    """A test question with what a good answer holds.

    ``papers`` are the ids that must be cited, none for a question that the papers don't answer; ``also_ok`` may be cited.
    ``answer`` is a reference in somebody's own words. Each of ``key_facts`` is a list of acceptable surface forms.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, Field(min_length=1)]
    question: str
    type: Annotated[str, Field(min_length=1)]
    history: tuple[Message, ...] = ()
    papers: tuple[str, ...] = ()
    also_ok: tuple[str, ...] = ()
    answer: str = ""
    key_facts: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] = ()

    @property
    def answerable(self) -> bool:
        """Whether the papers answer it."""
        return bool(self.papers)

    def messages(self) -> list[dict[str, Any]]:
        """The history as plain messages."""
        return [message.model_dump() for message in self.history]


def load_questions(source: Path) -> list[Question]:
    """The questions of a JSON Lines file, in order.

    Raises:
        QuestionSetError: unreadable, empty, a repeated id, or a line with a missing or wrong field; names line and field.
    """
    try:
        lines = source.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise QuestionSetError(f"{source}: can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise QuestionSetError(f"{source}: is not UTF-8 text; expected JSON Lines, one question a line") from None
    questions: dict[str, Question] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        question = _parsed(f"{source}:{number}", line)
        if question.id in questions:
            raise QuestionSetError(f"{source}:{number}: id {question.id!r} was used before; ids must differ")
        questions[question.id] = question
    if not questions:
        raise QuestionSetError(f"{source}: holds no questions; expected JSON Lines, one question a line")
    return list(questions.values())


def bundled_questions() -> list[Question]:
    """The 150 questions about the bundled papers."""
    with resources.as_file(resources.files("qa_bot.questions").joinpath(BUNDLED)) as source:
        return load_questions(source)


def _parsed(where: str, line: str) -> Question:
    try:
        return Question.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise QuestionSetError(f"{where}: is not JSON ({error.msg} at column {error.colno})") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the line"
        raise QuestionSetError(f"{where}: {field}: {first['msg'].lower()}") from None
