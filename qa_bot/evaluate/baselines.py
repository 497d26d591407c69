"""What the bot is compared with: keyword search, dense search over whole abstracts, and the stock LangChain chain."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

import prompts
from qa_bot.answer import Answer, Retrieved, Sentence, Turn, citation, cite, pieces
from qa_bot.errors import EvaluationError
from qa_bot.evaluate.engines import Engine
from qa_bot.quiet import silence
from vectorstore import Filters, Paper, PaperIndex, Passage
from vectorstore.search import question_terms

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

BASELINES = ("keyword", "dense", "langchain")

Progress = Callable[[str, int, int], None]

_RETRIEVED = 10
_QUOTED = 4
"""Sentences that the first two baselines quote, as many as the bot at most."""

_CHUNKS = 4 * _RETRIEVED
"""Chunks looked up, so that ten papers can be ranked though a paper has several."""

_CHUNK, _OVERLAP, _DOCUMENTS = 1000, 200, 4
"""Characters of a chunk and of its overlap as in LangChain's own tutorial; documents as its retriever's default."""


def baseline(name: str, index: PaperIndex, *, cache: Path | None = None, progress: Progress | None = None) -> Engine:
    """The baseline of that name over an index.

    Raises:
        EvaluationError: there is none of that name.
    """
    if name == "keyword":
        return KeywordBaseline(index)
    if name == "dense":
        return DenseBaseline(index, cache=cache, progress=progress)
    if name == "langchain":
        return LangChainBaseline(index, cache=cache, progress=progress)
    raise EvaluationError(f"{name!r} is no baseline; there are {', '.join(BASELINES)}")


class KeywordBaseline:
    """BM25 alone; quotes the four sentences of the best paper that hold the most of the question's words, in reading order.

    Declines only if no word matches. Its confidence is the share of the BM25 that could be reached.
    """

    engine = "keyword"

    def __init__(self, index: PaperIndex) -> None:
        self.index = index

    def warm(self) -> None:
        """Open the catalogue."""
        self.ask("warm up")

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        """The answer; ``history`` is not looked at."""
        started = time.perf_counter()
        found = self.index.keyword_search(question, k=_RETRIEVED)
        words = set(question_terms(question))
        scored = [(passage, float(len(words & set(question_terms(passage.text))))) for passage in found[0][0].passages] if found else []
        return _quoting(self.engine, question, found, scored, started)


class DenseBaseline:
    """Cosine of whole abstracts, each embedded once as "title. abstract", so cut where the model's window ends.

    Quotes the four nearest sentences of the nearest paper, in reading order. Never declines. Its confidence is the cosine.
    """

    engine = "dense"

    def __init__(self, index: PaperIndex, *, cache: Path | None = None, progress: Progress | None = None) -> None:
        self.index = index
        self._papers = sorted(index.papers(), key=lambda paper: paper.id)
        self._vectors = _Vectors(index, cache, progress).embed_documents([f"{paper.title}. {paper.abstract}" for paper in self._papers])

    def warm(self) -> None:
        """Load the model."""
        self.ask("warm up")

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        """The answer; ``history`` is not looked at."""
        started = time.perf_counter()
        if not self._papers:
            return _quoting(self.engine, question, [], [], started)
        cosines = np.asarray(self._vectors) @ self.index.embedder.embed_query(question)
        best = np.argsort(-cosines, kind="stable")[:_RETRIEVED]
        found = [(self._papers[at], float(cosines[at])) for at in best]
        hits = self.index.search(question, k=1, filters=Filters(ids=(found[0][0].id,))).hits
        return _quoting(self.engine, question, found, hits[0].passages if hits else (), started)


class LangChainBaseline:
    """LangChain's own recipe: recursive splitting, the Chroma store, its default retriever, and a prompt with the documents found.

    Without a model the answer is what a model would be shown: the four documents, word for word, each citing its paper. With
    one it is the model's text, citing all papers shown, since the recipe has no citations of its own. Never declines by
    itself. Its confidence is the best document's cosine.
    """

    engine = "langchain"

    def __init__(self, index: PaperIndex, *, model: BaseChatModel | None = None, cache: Path | None = None, progress: Progress | None = None) -> None:
        silence()  # before LangChain reads the environment
        from langchain_chroma import Chroma
        from langchain_core.documents import Document
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        from vectorstore.vectors import memory_client

        self.index = index
        self._model = model
        papers = sorted(index.papers(), key=lambda paper: paper.id)
        documents = [Document(f"{paper.title}\n\n{paper.abstract}", metadata={"paper_id": paper.id}) for paper in papers]
        chunks = RecursiveCharacterTextSplitter(chunk_size=_CHUNK, chunk_overlap=_OVERLAP).split_documents(documents)
        embeddings: Any = _Vectors(index, cache, progress)
        # all clients in memory share their collections, hence the name
        where: Any = {"collection_name": f"baseline-{uuid4()}", "collection_configuration": {"hnsw": {"space": "cosine"}}, "client": memory_client()}
        ids = [str(number) for number in range(len(chunks))]
        # from_documents fails without documents
        self._store = Chroma.from_documents(chunks, embeddings, ids=ids, **where) if chunks else Chroma(embedding_function=embeddings, **where)

    def warm(self) -> None:
        """Load the model."""
        self.ask("warm up")

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        """The answer; ``history`` is not looked at."""
        started = time.perf_counter()
        found = self._store.similarity_search_with_score(question, k=_CHUNKS) if question.strip() else []
        scores: dict[str, float] = {}
        for document, distance in found:
            if len(scores) < _RETRIEVED:
                scores.setdefault(document.metadata["paper_id"], 1 - distance)
        papers = self.index.get(list(scores))
        documents = [document for document, _ in found[:_DOCUMENTS] if document.metadata["paper_id"] in papers]
        numbers = {paper: number for number, paper in enumerate(dict.fromkeys(document.metadata["paper_id"] for document in documents), start=1)}
        citations = tuple(citation(number, papers[paper]) for paper, number in numbers.items())
        usage: dict[str, int] = {}
        if self._model is None:
            sentences = tuple(Sentence(document.page_content, (numbers[document.metadata["paper_id"]],), "unsupported") for document in documents)
        else:
            context = "\n\n".join(document.page_content for document in documents)
            message = self._model.invoke([("system", prompts.text("baseline")), ("human", f"{context}\n\nQuestion: {question}")])
            usage = {name: number for name, number in (message.usage_metadata or {}).items() if isinstance(number, int)}
            sentences = (Sentence(str(message.text), tuple(numbers.values()), "unsupported"),)
        retrieved = [(papers[paper], score) for paper, score in scores.items() if paper in papers]
        return _answer(self.engine, question, retrieved, sentences, citations, started, usage)


class _Vectors:
    """LangChain's embeddings interface over the index's own model; vectors are kept in ``cache`` by model and texts."""

    def __init__(self, index: PaperIndex, cache: Path | None, progress: Progress | None) -> None:
        self._embedder = index.embedder
        self._cache = cache
        self._progress = progress or (lambda stage, done, total: None)

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed_query(text).tolist()
        return vector

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        key = hashlib.sha256("\0".join([self._embedder.fingerprint.weights_sha256, *texts]).encode()).hexdigest()[:32]
        file = self._cache / f"vectors-{key}.npy" if self._cache else None
        if file and file.is_file():
            kept: NDArray[np.float32] = np.load(file, allow_pickle=False)
            return kept
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            self._progress("Embedding for a baseline", done, len(texts))

        vectors = self._embedder.embed_documents(texts, progress=count)
        if file:
            _keep(file, vectors)
        return vectors


def _keep(file: Path, vectors: NDArray[np.float32]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{uuid4().hex}.part")
        with partial.open("wb") as stream:
            np.save(stream, vectors, allow_pickle=False)
        partial.replace(file)
    except OSError:
        return  # a cache that can't be written only costs time


def _quoting(engine: str, question: str, found: Sequence[tuple[Paper, float]], scored: Sequence[tuple[Passage, float]], started: float) -> Answer:
    best = sorted(scored, key=lambda entry: (-entry[1], entry[0].number))[:_QUOTED]
    sentences, citations = cite(sorted((passage for passage, _ in best), key=lambda passage: passage.number), {paper.id: paper for paper, _ in found})
    return _answer(engine, question, found, sentences, citations, started)


def _answer(
    engine: str,
    question: str,
    found: Sequence[tuple[Paper, float]],
    sentences: Any,
    citations: Any,
    started: float,
    usage: dict[str, int] | None = None,
) -> Answer:
    confidence = max(0.0, min(1.0, found[0][1])) if found else 0.0
    text = "".join(pieces(sentences, citations)) if sentences else "Nothing was found."
    return Answer(
        question,
        question,
        "question",
        text,
        abstained=not sentences,
        confidence=round(confidence, 4),
        sentences=sentences,
        citations=citations,
        retrieved=tuple(Retrieved(paper.id, paper.title, round(score, 6)) for paper, score in found),
        engine=engine,
        timings_ms={"total": round((time.perf_counter() - started) * 1000, 2)},
        usage=usage or {},
    )
