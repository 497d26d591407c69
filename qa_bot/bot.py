"""The one path from a question to its answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import prompts
from qa_bot import extractive, listing_snapshot, records
from qa_bot.answer import Answer, Citation, Retrieved, Route, Sentence, Turn, as_turns, cite, pieces
from qa_bot.confidence import Confidence, fitted
from qa_bot.conversation import asks_for_another, paper_pointed_at, papers_shown, stand_alone_questions
from qa_bot.errors import MAX_QUESTION_CHARS, QuestionError
from qa_bot.generative import Writer
from qa_bot.lookup import from_catalogue
from qa_bot.planted import quotable
from qa_bot.routing import Routed, asks_count, names_a_subject, route
from qa_bot.selection import Selection, fitted_selection
from qa_bot.settings import Settings, load_settings
from qa_bot.stream import AnswerStream
from vectorstore import Embedder, Filters, Found, Hit, IndexMissing, PaperIndex, load_papers
from vectorstore.text import storable
from vectorstore.writing import Progress

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

    from qa_bot.chain import PaperRetriever

History = Iterable[Turn | Mapping[str, Any]] | None

_RETRIEVED = 10
_CLOSEST = 3
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f]")
_ASKS_ON = re.compile(r"\band (?:what|how|why|does|did|do)\b(?! (?:is|was|are) (?:its|the|their) (?:link|url|title|venue))", re.I)
_SURE = 0.97
_SEVERAL = 0.7
"""A subject in words that ask nothing gets a paper each if the second one's score reaches this share of the first's."""
_CLOSE_ENOUGH = 0.2
"""Least score of a paper offered as close when the bot declines; small talk about the weather stays below it."""


class PaperBot:
    """Answers questions from an index of papers. Holds no conversation: history comes in with each question."""

    engine = "extractive"

    def __init__(
        self,
        index: PaperIndex,
        *,
        min_confidence: float | None = None,
        max_sentences: int = 4,
        confidence: Confidence | None = None,
        selection: Selection | None = None,
        writer: Writer | None = None,
    ) -> None:
        """A bot over an open index.

        Args:
            index: the papers.
            min_confidence: decline below this probability, 0 to 1; None takes the fitted threshold.
            max_sentences: most sentences quoted in an answer.
            confidence: fitted parameters; None takes those that ship with the program.
            selection: fitted weights of sentences; None takes those that ship with the program.
            writer: writes the answers with a language model; None quotes.
        """
        self.index = index
        if writer:
            self.engine = "generative"
        self._writer = writer
        self._confidence = confidence or fitted()
        self._selection = selection or fitted_selection()
        self.min_confidence = self._confidence.threshold if min_confidence is None else min_confidence
        self._max_sentences = max_sentences

    @classmethod
    def open(cls, index: str | Path | None = None, *, settings: Settings | None = None, progress: Progress | None = None) -> PaperBot:
        """A bot over the index in a folder, by default the one that the settings name.

        If nothing is there yet, it is first built from the bundled papers; if a write was interrupted, it is finished.
        ``progress`` is called with the numbers of passages embedded and to embed while that takes its time.

        Raises:
            StoreError: the index can't serve; the message says what to run.
            SettingsError: the language model can't be used; the message says what to do.
        """
        settings = settings or load_settings()
        writer = Writer.open(settings)
        confidence, selection = fitted(settings.learned), fitted_selection(settings.learned)
        folder = Path(index).expanduser() if index is not None else settings.index.expanduser()
        embedder = Embedder(settings.embedding_model)
        try:
            opened = PaperIndex(folder, embedder)
        except IndexMissing:
            with resources.as_file(resources.files("vectorstore.corpora").joinpath("icml2026.jsonl")) as bundled:
                opened = PaperIndex.create(folder, load_papers(bundled).papers, embedder, progress=progress)
        opened.repair(progress=progress)
        return cls(
            opened, min_confidence=settings.min_confidence, max_sentences=settings.max_sentences, confidence=confidence, selection=selection, writer=writer
        )

    def over(self, index: PaperIndex, *, min_confidence: float | None = None) -> Self:
        """The same bot over another index, or with another threshold: 0 answers whatever has a hit, None keeps this bot's."""
        threshold = self.min_confidence if min_confidence is None else min_confidence
        return type(self)(
            index, min_confidence=threshold, max_sentences=self._max_sentences, confidence=self._confidence, selection=self._selection, writer=self._writer
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What its answers depend on besides the index, for an evaluation that is resumed."""
        return {"min_confidence": self.min_confidence, "max_sentences": self._max_sentences, "learned": repr((self._confidence, self._selection))}

    def close(self) -> None:
        """Release the index."""
        self.index.close()

    def warm(self) -> None:
        """Load everything that the first question would have to wait for."""
        self.index.search("warm up", k=1)
        listing_snapshot.snapshot(self.index)

    def ask(self, question: str, *, history: History = None, filters: Filters = Filters()) -> Answer:
        """The answer to ``question``.

        Args:
            question: up to 4,000 characters.
            history: earlier turns, oldest first, as :class:`Turn` or ``{"role": …, "content": …}``.
            filters: which papers to search.

        Raises:
            QuestionError: the question is too long.
            StoreError: the index can't serve.

        Example:
            >>> bot.ask("What does PersistBench measure?").citations[0].title
            'PersistBench: When Should Long-Term Memories Be Forgotten by LLMs?'
        """
        stream = self.stream(question, history=history, filters=filters)
        for _ in stream:
            pass
        return stream.answer

    async def aask(self, question: str, *, history: History = None, filters: Filters = Filters()) -> Answer:
        """:meth:`ask` in a thread, for asynchronous callers."""
        return await asyncio.to_thread(self.ask, question, history=history, filters=filters)

    def stream(self, question: str, *, history: History = None, filters: Filters = Filters()) -> AnswerStream:
        """The answer to ``question`` piece by piece; arguments and errors as in :meth:`ask`, raised at the first piece."""
        return AnswerStream(self._answer(question, as_turns(history or ()), filters))

    @cached_property
    def retriever(self) -> PaperRetriever:
        """The index as a LangChain retriever: one document a paper, best first."""
        from qa_bot.chain import PaperRetriever

        return PaperRetriever(index=self.index)

    @cached_property
    def chain(self) -> Runnable[Any, dict[str, Any]]:
        """LCEL chain from a question to ``{"question", "standalone_question", "documents", "context"}``."""
        from qa_bot.chain import retrieval_chain

        return retrieval_chain(self.retriever)

    def _answer(self, question: str, history: tuple[Turn, ...], filters: Filters) -> Generator[str, None, Answer]:
        started = time.perf_counter()
        if len(question) > MAX_QUESTION_CHARS:
            raise QuestionError(f"the question has {len(question):,} characters, at most {MAX_QUESTION_CHARS:,} are searched; shorten it")
        question = storable(question)
        routed = route(question)
        if routed.route in ("blank", "greeting", "thanks"):
            count = self.index.count()
            reply = prompts.fill(routed.route, count=f"{count:,}") if count or routed.route != "greeting" else prompts.text("empty")
            yield reply
            return Answer(question, question, routed.route, reply, abstained=False, confidence=1.0, timings_ms=_timings(started))
        named = records.authors_named(self.index, question)
        if composed := from_catalogue(self.index, question, named, filters):
            listed = tuple(Retrieved(cited.paper_id, cited.title, 1.0) for cited in composed[1])
            draft = Answer(question, question, "metadata", "", abstained=False, confidence=1.0, retrieved=listed)
            return (yield from _write(draft, *composed, started))
        if len(named) == 1 and re.search(r"\bby\s+$", question[: named[0][0]], re.I) and not filters.author:
            filters = replace(filters, author=named[0][2])
        candidates, filters, left_out = self._pointed(question, history, filters)
        standalone, found, confidence = self._search(candidates, filters, left_out)
        searched = time.perf_counter()
        retrieved = tuple(Retrieved(hit.paper.id, hit.paper.title, round(hit.score, 4)) for hit in found.hits)
        draft = Answer(question, standalone, routed.route, "", False, round(confidence, 4), retrieved=retrieved)
        if confidence < self.min_confidence or not found.hits:
            text = self._refusal(found.hits, filters)
            yield text
            return replace(draft, text=text, abstained=True, timings_ms=_timings(started, searched))
        sentences, citations = self._compose(routed, standalone, found)
        notice = prompts.text("not-a-count") if routed.route == "topic" and asks_count(question) else ""
        if self._writer and not routed.fields:
            unsure = confidence < (1 + self.min_confidence) / 2
            refusal = self._refusal(found.hits, filters) if unsure else ""
            written = yield from self._writer.write(draft, found, history, (sentences, citations), notice=notice, refusal=refusal)
            return replace(written, timings_ms=_timings(started, searched) | dict(written.timings_ms))
        return (yield from _write(draft, sentences, citations, started, searched, notice=notice))

    def _pointed(self, question: str, history: tuple[Turn, ...], filters: Filters) -> tuple[tuple[str, ...], Filters, frozenset[str]]:
        """What to search, where, and which papers to leave out, if the question points at a paper that was shown, or at another one."""
        candidates = stand_alone_questions(question, history)
        another = asks_for_another(question)
        if not history or not (another or paper_pointed_at(question, ("",) * 9)):
            return candidates, filters, frozenset()
        titles = {paper.id: paper.title for paper in self.index.papers()}
        shown = papers_shown(history, titles)
        if meant := paper_pointed_at(question, shown):
            paper, words = meant
            return (question.replace(words, f"“{titles[paper]}”", 1),), replace(filters, ids=(paper,)), frozenset()
        return candidates, filters, frozenset(shown[-1:] if another else ())

    def _search(self, candidates: tuple[str, ...], filters: Filters, left_out: frozenset[str]) -> tuple[str, Found, float]:
        for candidate in candidates:
            standalone = self.index.corrected(_CONTROL.sub(" ", storable(candidate)))
            found = quotable(self.index.search(standalone, k=_RETRIEVED + len(left_out), filters=filters), left_out)
            confidence = self._confidence.probability(found)
            if confidence >= _SURE:  # the question as asked is well answered: no need for the history
                break
        return standalone, found, confidence

    def _compose(self, routed: Routed, question: str, found: Found) -> tuple[tuple[Sentence, ...], tuple[Citation, ...]]:
        if routed.fields:
            stated, citations = records.statements(found.hits[0].paper, routed.fields)
            if not _ASKS_ON.search(question):
                return stated, citations
            passages = extractive.select(
                question, found.hits[:1], found.terms, route="question", limit=max(1, self._max_sentences - len(stated)), selection=self._selection
            )
            quoted, citations = cite(passages, {found.hits[0].paper.id: found.hits[0].paper})
            return stated + quoted, citations
        kind = routed.route
        if kind == "question" and names_a_subject(question) and len(found.hits) > 1 and found.hits[1].score >= _SEVERAL * found.hits[0].score:
            kind = "topic"
        passages = extractive.select(question, found.hits, found.terms, route=kind, limit=self._max_sentences, selection=self._selection)
        return cite(passages, {hit.paper.id: hit.paper for hit in found.hits})

    def _refusal(self, hits: tuple[Hit, ...], filters: Filters) -> str:
        total = self.index.count()
        if not total:
            return prompts.text("empty")
        if not hits and filters:
            return prompts.text("no-match")
        close = [f"“{hit.paper.title}”" for hit in hits[:_CLOSEST] if hit.score >= _CLOSE_ENOUGH]
        refusal = prompts.fill("refusal", count=f"{total:,}")
        return f"{refusal} {prompts.fill('closest', titles='; '.join(close))}" if close else refusal


def _write(
    draft: Answer, sentences: tuple[Sentence, ...], citations: tuple[Citation, ...], started: float, searched: float | None = None, *, notice: str = ""
) -> Generator[str, None, Answer]:
    written = [f"{notice}\n\n"] * bool(notice) + pieces(sentences, citations)
    yield from written
    return replace(draft, text="".join(written), sentences=sentences, citations=citations, timings_ms=_timings(started, searched))


def _timings(started: float, searched: float | None = None) -> dict[str, float]:
    now = time.perf_counter()
    timings = {"total": round((now - started) * 1000, 2)}
    if searched is not None:
        timings = {"retrieve": round((searched - started) * 1000, 2), "answer": round((now - searched) * 1000, 2)} | timings
    return timings


@lru_cache(maxsize=1)
def _default_bot() -> PaperBot:
    return PaperBot.open()


def ask(question: str, *, history: History = None, filters: Filters = Filters()) -> Answer:
    """The answer to ``question`` from the default index, which the first call opens, or builds from the bundled papers.

    Arguments and errors are those of :meth:`PaperBot.ask`.
    """
    return _default_bot().ask(question, history=history, filters=filters)


__all__ = ["MAX_QUESTION_CHARS", "AnswerStream", "History", "PaperBot", "Route", "ask"]
