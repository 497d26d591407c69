"""The answerer with a language model: it writes, and code checks each sentence before anybody sees it.

The model is shown numbered sentences and names their numbers; citations are built from the records of the papers that hold what it
wrote. What no sentence holds is left out; if nothing is left, the quoted answer takes its place and says why.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import prompts
from qa_bot.answer import Answer, Citation, Quote, Sentence, Turn, citation, pieces
from qa_bot.errors import LanguageModelError
from qa_bot.labels import claims
from qa_bot.support import Entails, Source, check
from vectorstore import Found
from vectorstore.text import storable

if TYPE_CHECKING:
    from qa_bot.language_model import LanguageModel, Message, Piece
    from qa_bot.settings import Settings

_PAPERS = 3
_ANSWER_SHARE = 8
"""The answer gets this part of the model's window, that is 512 of 4,096 tokens; four sentences take 150."""
_SOURCES_SHARE = 0.75
"""Most of the room that is left that sources may take from an earlier conversation."""
_FRAME = 24
"""Tokens that a chat template puts around a message, generously."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_MARKS = re.compile(r"\s?\[\d+\]")
_SUBJECT = r"(?:papers?|abstracts?|sources?|sentences?|documents?|context|texts?|information|excerpts?|passages?)"
_REFUSES = re.compile(
    rf"\b{_SUBJECT}\b.{{0,60}}\b(?:do(?:es)? not|don['’]t|doesn['’]t|did not|cannot|can['’]t|lacks?|contains? no|gives? no|is not|are not|no)\b.{{0,80}}"
    r"\b(?:answer|say|state|mention|contain|provide|specify|give|include|address|information|discuss|available|found|enough)"
    rf"|\bI (?:don['’]t know|do not know|can(?:not|['’]t) answer|am (?:not able|unable) to answer)|\bno (?:relevant )?(?:answer|information) .{{0,40}}\b{_SUBJECT}\b",
    re.I,
)


@dataclass(frozen=True)
class Writer:
    """A language model that writes answers, and optionally a model that must find each sentence entailed."""

    model: LanguageModel
    entails: Entails | None = None

    @classmethod
    def open(cls, settings: Settings) -> Writer | None:
        """The writer that the settings name; None if they name no language model.

        Raises:
            SettingsError: the model can't be used; the message says what to do.
        """
        if not settings.model and not settings.base_url:
            return None
        from qa_bot.language_model import EntailmentModel, open_model

        return cls(open_model(settings), EntailmentModel(settings.entailment) if settings.entailment else None)

    def write(
        self,
        draft: Answer,
        found: Found,
        history: Sequence[Turn],
        quoted: tuple[tuple[Sentence, ...], tuple[Citation, ...]],
        *,
        notice: str = "",
        refusal: str = "",
    ) -> Generator[str, None, Answer]:
        """Write the answer, piece by piece; each piece is checked.

        Args:
            draft: the answer so far, with the question.
            found: the papers that were found.
            history: earlier turns, oldest first; as many as fit are shown.
            quoted: the answer without a language model, which takes over if this one can't be given.
            notice: a line to put in front.
            refusal: what to say if the model finds no answer; empty to give ``quoted`` then.
        """
        started = time.perf_counter()
        sources, messages = prompt(draft.standalone_question, found, history, quoted[1], self.model.context)
        page = _Page(notice)
        yield from page.begin()
        meter = _Meter(messages)
        reason, refused = "", False
        try:
            if not sources:
                raise LanguageModelError("the question leaves no room in its window (QA_BOT_CONTEXT)")
            for claim in claims(meter.read(self.model.stream(messages)), len(sources)):
                if _REFUSES.search(claim.text):
                    refused = True
                    continue
                verdict = check(claim.text, [label - 1 for label in claim.labels], sources, entails=self.entails)
                if verdict.sources:
                    yield from page.add(claim.text, [sources[number] for number in verdict.sources], quoted=verdict.support == "quoted")
                page.left_out += bool(verdict.fault)
        except LanguageModelError as failure:
            reason = str(failure)
        written = replace(draft, engine="generative", usage=meter.usage, timings_ms={"generate": round((time.perf_counter() - started) * 1000, 2)})
        if page.sentences:
            yield from page.end(reason)
            return replace(written, text=page.text, sentences=tuple(page.sentences), citations=page.citations())
        if refused and refusal and not reason:
            yield refusal
            return replace(written, text=page.text + refusal, abstained=True)
        reason = reason or (
            "it finds no answer in the abstracts" if refused else "the abstracts don't hold what it wrote" if page.left_out else "it wrote nothing"
        )
        fallen = [prompts.fill("fell-back", reason=reason) + "\n\n", *pieces(*quoted)]
        yield from fallen
        return replace(written, engine="extractive", text=page.text + "".join(fallen), sentences=quoted[0], citations=quoted[1])


class _Page:
    """What has been shown of an answer."""

    def __init__(self, notice: str) -> None:
        self.text = ""
        self.sentences: list[Sentence] = []
        self.left_out = 0
        self._notice = notice
        self._quotes: dict[str, dict[int, Quote]] = {}
        self._numbers: dict[str, int] = {}
        self._papers: dict[str, Source] = {}

    def begin(self) -> Iterator[str]:
        if self._notice:
            yield self._shown(f"{self._notice}\n\n")

    def add(self, text: str, held_by: Sequence[Source], *, quoted: bool) -> Iterator[str]:
        text = held_by[0].passage.text if quoted else text
        if any(sentence.text == text for sentence in self.sentences):
            return  # models repeat themselves
        for source in held_by:
            passage = source.passage
            self._numbers.setdefault(passage.paper_id, len(self._numbers) + 1)
            self._papers.setdefault(passage.paper_id, source)
            self._quotes.setdefault(passage.paper_id, {})[passage.number] = Quote(passage.text, passage.start, passage.end)
        numbers = tuple(dict.fromkeys(self._numbers[source.passage.paper_id] for source in held_by))
        self.sentences.append(Sentence(text, numbers, "quoted" if quoted else "checked"))
        yield self._shown(pieces(self.sentences, self.citations())[-1])

    def end(self, reason: str) -> Iterator[str]:
        if self.left_out:
            yield self._shown("\n\n" + prompts.fill("left-out", count=self.left_out))
        if reason:
            yield self._shown("\n\n" + prompts.fill("cut-short", reason=reason))

    def citations(self) -> tuple[Citation, ...]:
        return tuple(
            citation(number, self._papers[paper].paper, (quote for _, quote in sorted(self._quotes[paper].items()))) for paper, number in self._numbers.items()
        )

    def _shown(self, piece: str) -> str:
        self.text += piece
        return piece


class _Meter:
    """Counts what goes into a model and comes out of it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._shown = sum(len(text) for _, text in messages)
        self._tokens = sum(tokens(text) for _, text in messages)
        self._counted: dict[str, int] = {}
        self._written: list[str] = []

    def read(self, stream: Iterator[Piece]) -> Iterator[str]:
        for piece in stream:
            for name, count in (piece.usage or {}).items():
                self._counted[name] = self._counted.get(name, 0) + count
            self._written.append(piece.text)
            yield piece.text

    @property
    def usage(self) -> dict[str, int]:
        written = "".join(self._written)
        counted = self._counted or {"estimated_input_tokens": self._tokens, "estimated_output_tokens": tokens(written)}
        return counted | {"input_characters": self._shown, "output_characters": len(written)}


def prompt(question: str, found: Found, history: Sequence[Turn], first: Sequence[Citation], context: int) -> tuple[list[Source], list[Message]]:
    """The sentences to show, in the order of their numbers, and the messages, within ``context`` tokens.

    ``first`` are citations whose quotes are shown before anything else; then come the best papers' sentences, nearest to the question
    first. No sentence fits if the question fills the window.
    """
    system, asked = prompts.text("generate"), f"Question: {_plain(question)}"
    room = context - context // _ANSWER_SHARE - tokens(system) - tokens(asked) - 2 * _FRAME
    turns = _turns(history)
    wanted = room - min(sum(tokens(text) + _FRAME for _, text in turns), int(room * (1 - _SOURCES_SHARE)))
    sources = _sources(found, first, wanted)
    shown = _fenced(sources)
    kept = _latest(turns, room - tokens(shown))
    return sources, [("system", system), *kept, ("user", f"{shown}\n\n{asked}")]


def tokens(text: str) -> int:
    """Tokens of ``text`` at most, estimated without a tokenizer: three plain letters each, one for every other character."""
    plain = sum(character.isascii() for character in text)
    return ceil(plain / 3) + len(text) - plain


def _sources(found: Found, first: Sequence[Citation], room: int) -> list[Source]:
    preferred = {(cited.paper_id, quote.start) for cited in first for quote in cited.quotes}
    candidates = [
        (((passage.paper_id, passage.start) not in preferred, -similarity, rank, passage.number), Source(passage, hit.paper))
        for rank, hit in enumerate(found.hits)
        for passage, similarity in hit.passages
        if rank < _PAPERS or (passage.paper_id, passage.start) in preferred
    ]
    chosen: list[Source] = []
    titles: set[str] = set()
    for _, source in sorted(candidates, key=lambda candidate: candidate[0]):
        cost = tokens(source.passage.text) + 4 + (0 if source.paper.id in titles else tokens(source.paper.title) + 6)
        if cost <= room:
            room -= cost
            chosen.append(source)
            titles.add(source.paper.id)
    ranks = {hit.paper.id: rank for rank, hit in enumerate(found.hits)}
    return sorted(chosen, key=lambda source: (ranks[source.paper.id], source.passage.number))


def _fenced(sources: Sequence[Source]) -> str:
    groups: dict[str, list[str]] = {}
    for number, source in enumerate(sources, start=1):
        lines = groups.setdefault(source.paper.id, ["---", _unfenced(source.paper.title)])
        lines.append(f"[{number}] {_unfenced(source.passage.text)}")
    return "\n\n".join("\n".join([*lines, "---"]) for lines in groups.values())


def _unfenced(text: str) -> str:
    return re.sub(r"-{3,}", "—", " ".join(_plain(text).split()))


def _plain(text: str) -> str:
    return _CONTROL.sub(" ", storable(text))


def _turns(history: Sequence[Turn]) -> list[Message]:
    """The conversation as messages that take turns, from a question to an answer; marks of its own citations would pass for labels."""
    turns: list[Message] = []
    for turn in history:
        text = _plain(_MARKS.sub("", turn.content) if turn.role == "assistant" else turn.content).strip()
        if not text or (not turns and turn.role == "assistant"):
            continue
        if turns and turns[-1][0] == turn.role:
            turns[-1] = (turn.role, f"{turns[-1][1]}\n\n{text}")
        else:
            turns.append((turn.role, text))
    return turns[:-1] if turns and turns[-1][0] == "user" else turns


def _latest(turns: Sequence[Message], room: int) -> list[Message]:
    kept: list[Message] = []
    for question, answer in zip(turns[-2::-2], turns[-1::-2], strict=False):
        room -= tokens(question[1]) + tokens(answer[1]) + 2 * _FRAME
        if room < 0:
            break
        kept = [question, answer, *kept]
    return kept
