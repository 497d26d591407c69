"""Test questions: their fields, and reading them from JSON Lines or CSV."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from qa_bot.errors import QuestionSetError

BUNDLED = "seeds-dev"
"""Name of the set about the bundled papers; ``qa_bot/questions/`` holds it and others."""

_LISTS = ("papers", "also_ok")
_SHOWN = 60


class Message(BaseModel):
    """An earlier message of the conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant"]
    content: str


class Question(BaseModel):
    """A test question with what a good answer holds.

    Attributes:
        id: unique in its set.
        question: what is asked, as a user would.
        type: a word to group by, such as fact, number, topic, followup; ``count`` asks for a number and the papers counted.
        history: earlier messages, oldest first.
        papers: ids that must be cited; none for a question that the papers don't answer.
        also_ok: ids that may be cited besides.
        answer: a reference in somebody's own words; shown, not scored.
        key_facts: what must be stated, each fact as its acceptable surface forms.
        standalone: the question in words that need no history; asked too, to see what a follow-up costs.
        todo: what a draft still lacks; a set with drafts isn't scored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, Field(min_length=1)]
    question: Annotated[str, Field(pattern=r"\S")]
    type: Annotated[str, Field(min_length=1)]
    history: tuple[Message, ...] = ()
    papers: tuple[str, ...] = ()
    also_ok: tuple[str, ...] = ()
    answer: str = ""
    key_facts: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] = ()
    standalone: str = ""
    todo: str = ""

    @property
    def answerable(self) -> bool:
        """Whether the papers answer it."""
        return bool(self.papers)

    def messages(self) -> list[dict[str, Any]]:
        """The history as plain messages."""
        return [message.model_dump() for message in self.history]


class QuestionSet(tuple[Question, ...]):
    """Questions in order, with the name of the set and the SHA-256 of the file."""

    name: str
    sha256: str

    @classmethod
    def of(cls, questions: Sequence[Question], name: str, sha256: str = "") -> QuestionSet:
        """A set from questions; without a hash, the questions themselves are hashed."""
        found = cls(questions)
        found.name = name
        found.sha256 = sha256 or hashlib.sha256("\n".join(question.model_dump_json() for question in questions).encode()).hexdigest()
        return found


def load_questions(source: Path, *, drafts: bool = False) -> QuestionSet:
    """The questions of a JSON Lines file, or of a CSV file with the same columns.

    In CSV, ``papers`` and ``also_ok`` are ids separated by ``;``, ``key_facts`` are facts separated by ``;`` with forms
    separated by ``|``, and ``history`` is JSON; JSON is accepted in all of them. ``drafts`` lets entries with a ``todo`` pass.

    Raises:
        QuestionSetError: unreadable, empty, a repeated id, a draft, or an entry with a missing or wrong field; names line and field.
    """
    try:
        data = source.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise QuestionSetError(f"{source}: can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise QuestionSetError(f"{source}: is not UTF-8 text; expected JSON Lines, one question a line, or CSV") from None
    entries = _from_csv(source, text) if source.suffix.lower() == ".csv" else _from_jsonl(source, text)
    questions: dict[str, Question] = {}
    for where, entry in entries:
        question = _parsed(where, entry)
        if question.id in questions:
            raise QuestionSetError(f"{where}: id {question.id!r} was used before; ids must differ")
        if question.todo and not drafts:
            raise QuestionSetError(f"{where}: todo: is still a draft ({question.todo[:_SHOWN]}); complete it and take todo out")
        questions[question.id] = question
    if not questions:
        raise QuestionSetError(f"{source}: holds no questions; expected JSON Lines, one question a line, or CSV")
    return QuestionSet.of(tuple(questions.values()), source.name, hashlib.sha256(data).hexdigest())


def bundled_names() -> list[str]:
    """Names of the bundled sets, sorted."""
    return sorted(entry.name.removesuffix(".jsonl") for entry in resources.files("qa_bot.questions").iterdir() if entry.name.endswith(".jsonl"))


def bundled_questions(name: str = BUNDLED) -> QuestionSet:
    """A bundled set by its name, by default the 150 questions about the bundled papers.

    Raises:
        QuestionSetError: no set has this name.
    """
    if name not in bundled_names():
        raise QuestionSetError(f"{name!r} is no bundled question set; there are {', '.join(bundled_names())}")
    with resources.as_file(resources.files("qa_bot.questions").joinpath(f"{name}.jsonl")) as source:
        return load_questions(source)


def _from_jsonl(source: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{source}:{number}"
            try:
                yield where, json.loads(line, object_pairs_hook=_without_doubles)
            except json.JSONDecodeError as error:
                raise QuestionSetError(f"{where}: is not JSON ({error.msg} at column {error.colno})") from None
            except (ValueError, RecursionError) as error:
                raise QuestionSetError(f"{where}: can't be used ({error})") from None


def _from_csv(source: Path, text: str) -> Iterator[tuple[str, Any]]:
    rows = csv.DictReader(StringIO(text), strict=True)
    try:
        names = [name.strip() for name in rows.fieldnames or ()]
        if len(set(names)) < len(names):
            raise QuestionSetError(f"{source}:1: a column stands there twice ({', '.join(sorted(name for name in set(names) if names.count(name) > 1))})")
        rows.fieldnames = names
        for row in rows:
            where = f"{source}:{rows.line_num}"
            if None in row:
                raise QuestionSetError(f"{where}: has more cells than the header; quote cells that hold commas")
            if None in row.values():
                raise QuestionSetError(f"{where}: has fewer cells than the header")
            if "papers" in row and not row["papers"]:
                row["papers"] = "[]"
            yield where, {name: _cell(where, name, value) for name, value in row.items() if value}
    except csv.Error as error:
        raise QuestionSetError(f"{source}:{rows.line_num + 1}: is not CSV ({error})") from None  # counted after a line is read


def _cell(where: str, name: str, value: str) -> Any:
    if value.lstrip().startswith("[") and name in (*_LISTS, "history", "key_facts"):
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            raise QuestionSetError(f"{where}: {name}: is not JSON ({error.msg} at column {error.colno})") from None
    if name in _LISTS:
        return [part.strip() for part in value.split(";") if part.strip()]
    if name == "key_facts":
        return [[form.strip() for form in fact.split("|")] for fact in value.split(";") if fact.strip()]
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return found


def _parsed(where: str, entry: Any) -> Question:
    if isinstance(entry, dict):
        for name in entry.keys() - Question.model_fields.keys():
            # other fields are left alone, but a misspelt one would make its question unanswerable
            if meant := get_close_matches(str(name).strip().lower(), Question.model_fields, 1, 0.75):
                raise QuestionSetError(f"{where}: {name}: is no field; {meant[0]} is")
        if "type" in entry and "papers" not in entry:
            raise QuestionSetError(f"{where}: papers: field required; an empty list if the papers don't answer")
    try:
        question = Question.model_validate(entry)
        question.model_dump_json().encode()
        return question
    except (UnicodeError, PydanticSerializationError):
        raise QuestionSetError(f"{where}: holds half a character (a lone surrogate)") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the line"
        raise QuestionSetError(f"{where}: {field}: {first['msg'].lower()}") from None
