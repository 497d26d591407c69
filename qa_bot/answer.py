"""What a question gets: an answer of cited sentences, as plain values and pure functions on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from qa_bot.errors import QuestionError
from vectorstore import Paper, Passage

Route = Literal["blank", "greeting", "thanks", "metadata", "topic", "comparison", "question"]
Support = Literal["quoted", "checked", "unsupported"]
Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; ``paper_ids`` are the papers that an answer cited, in order."""

    role: Role
    content: str
    paper_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim span of a paper's abstract: ``text == paper.abstract[start:end]``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of an answer, built from the index's record of the paper. ``number`` counts from 1."""

    number: int
    paper_id: str
    title: str
    authors: tuple[str, ...]
    url: str | None
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer with the numbers of its citations.

    ``support`` is ``"quoted"`` for a verbatim span of an abstract, ``"checked"`` for a statement checked against the record
    or the abstract of a paper, ``"unsupported"`` otherwise.
    """

    text: str
    citations: tuple[int, ...]
    support: Support


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A paper that was considered, with its score, 0 to 1."""

    paper_id: str
    title: str
    score: float


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to one question.

    ``standalone_question`` is what was searched, ``confidence`` the estimated probability (0 to 1) that the papers
    answer it, ``abstained`` whether the bot declined for that reason; times are in milliseconds; ``usage`` counts a language
    model's ``input_tokens`` and ``output_tokens``, named ``estimated_…`` where it didn't count them itself, and
    ``input_characters`` and ``output_characters``; it is empty without one.
    """

    question: str
    standalone_question: str
    route: Route
    text: str
    abstained: bool
    confidence: float
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    retrieved: tuple[Retrieved, ...] = ()
    engine: str = "extractive"
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready values, the stable contract of ``qa-bot ask --json``."""
        return asdict(self)

    def turns(self) -> tuple[Turn, Turn]:
        """Question and answer as two turns for the next question's history."""
        return Turn("user", self.question), Turn("assistant", self.text, tuple(c.paper_id for c in self.citations))


def cite(passages: Sequence[Passage], papers: Mapping[str, Paper]) -> tuple[tuple[Sentence, ...], tuple[Citation, ...]]:
    """Quoted sentences in the order given, and one citation per paper numbered by first use."""
    numbers: dict[str, int] = {}
    quotes: dict[str, list[Quote]] = {}
    sentences = []
    for passage in passages:
        number = numbers.setdefault(passage.paper_id, len(numbers) + 1)
        quotes.setdefault(passage.paper_id, []).append(Quote(passage.text, passage.start, passage.end))
        sentences.append(Sentence(passage.text, (number,), "quoted"))
    citations = tuple(citation(number, papers[paper_id], quotes[paper_id]) for paper_id, number in numbers.items())
    return tuple(sentences), citations


def citation(number: int, paper: Paper, quotes: Iterable[Quote] = ()) -> Citation:
    """Citation of a paper from its record."""
    return Citation(number, paper.id, paper.title, paper.authors, paper.url, tuple(quotes))


def pieces(sentences: Sequence[Sentence], citations: Sequence[Citation]) -> list[str]:
    """The answer's text in pieces fit for streaming: before each paper's sentences a lead-in with its title."""
    titles = {c.number: c.title for c in citations}
    written: list[str] = []
    current: int | None = None
    for sentence in sentences:
        number = sentence.citations[0] if sentence.citations else None
        if sentence.support == "quoted" and number is not None and number != current:
            written.append(("\n\n" if written else "") + f"“{titles[number]}” [{number}]: {sentence.text}")
        elif sentence.support != "quoted":
            written.append(("\n" if written else "") + sentence.text + _marks(sentence.citations))
        else:
            written.append(" " + sentence.text)
        current = number
    return written


def _marks(numbers: Sequence[int]) -> str:
    """Citation marks, four and more in a row as " [1] to [9]": fifty of them would bury the sentence."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return "".join(f" [{run[0]}] to [{run[-1]}]" if len(run) > 3 else "".join(f" [{number}]" for number in run) for run in runs)


def as_turns(history: Iterable[Turn | Mapping[str, Any]]) -> tuple[Turn, ...]:
    """A history of turns or of ``{"role", "content"}`` messages, whose content is text or a list of typed parts, as turns."""
    turns = []
    for entry in history:
        if isinstance(entry, Turn):
            turns.append(entry)
        elif not isinstance(entry, Mapping):
            raise QuestionError(f"the history holds {str(entry)[:60]!r}; expected turns or {{'role': …, 'content': …}} messages")
        elif entry.get("role") in ("user", "assistant"):
            turns.append(Turn(entry["role"], _content(entry.get("content"))))
    return tuple(turns)


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _content(content.get("text"))
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return "\n".join(text for part in content if (text := _content(part)))
    return ""
