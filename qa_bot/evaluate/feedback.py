"""Feedback on answers: the file's format, and drafts of test questions made from it."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_bot.errors import QuestionSetError
from qa_bot.evaluate.questions import Message, Question


class Feedback(BaseModel):
    """One vote on one answer, a line of the feedback file (JSON Lines, UTF-8).

    Attributes:
        time: when the vote was given, ISO 8601 with a time zone.
        vote: ``up`` or ``down``.
        note: what the user wrote, if anything.
        question: what was asked.
        history: the messages before it, oldest first.
        text: the answer as shown.
        cited: ids of the papers cited, in order.
        abstained: whether the bot declined.
        engine: what answered.
        generation: generation of the index that was asked.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    time: datetime
    vote: Literal["up", "down"]
    note: str = ""
    question: Annotated[str, Field(min_length=1)]
    history: tuple[Message, ...] = ()
    text: str
    cited: tuple[str, ...] = ()
    abstained: bool = False
    engine: str = "extractive"
    generation: int = 0


def load_feedback(source: Path) -> list[Feedback]:
    """The votes of a feedback file, in order.

    Raises:
        QuestionSetError: unreadable, empty, or a line with a missing or wrong field; names line and field.
    """
    try:
        lines = source.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionSetError(f"{source}: can't be read as text ({getattr(error, 'strerror', None) or error})") from None
    votes = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            votes.append(Feedback.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            raise QuestionSetError(f"{source}:{number}: {'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg'].lower()}") from None
    if not votes:
        raise QuestionSetError(f"{source}: holds no feedback; expected JSON Lines, one vote a line")
    return votes


def drafts(votes: list[Feedback]) -> list[Question]:
    """Draft questions, one for each question and history, from the last vote on it; each says in ``todo`` what a person must settle.

    A thumb up proposes what was cited and said as papers and answer, or a question without an answer if the bot declined. A thumb
    down proposes nothing but keeps what was cited in the ``todo``, since what is right is not known.
    """
    latest = {(vote.question.strip(), vote.history): vote for vote in votes}
    return [_draft(vote) for vote in latest.values()]


def write_questions(questions: list[Question]) -> str:
    """Questions as JSON Lines, empty optional fields left out."""
    return "".join(json.dumps(_slim(question), ensure_ascii=False) + "\n" for question in questions)


def _draft(vote: Feedback) -> Question:
    key = json.dumps([vote.question.strip(), [message.model_dump() for message in vote.history]])
    said = f"; the user wrote: {vote.note.strip()}" if vote.note.strip() else ""
    cited = ", ".join(vote.cited) or "nothing"
    good = vote.vote == "up"
    if good and vote.abstained:
        todo = "check that no paper answers it"
    elif good:
        todo = "check papers, put the answer in your own words, list key_facts"
    else:
        todo = f"name the right papers and key_facts (the answer {'declined' if vote.abstained else 'cited ' + cited} and was voted down)"
    return Question(
        id="fb-" + hashlib.sha256(key.encode()).hexdigest()[:10],
        question=vote.question.strip(),
        type="unanswerable" if good and vote.abstained else "followup" if vote.history else "fact",
        history=vote.history,
        papers=vote.cited if good and not vote.abstained else (),
        answer=vote.text if good else "",
        todo=todo + said,
    )


def _slim(question: Question) -> dict[str, Any]:
    values = question.model_dump(mode="json")
    return {name: value for name, value in values.items() if value or name in ("papers", "also_ok", "key_facts", "history")}
