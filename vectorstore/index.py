"""The index of papers: open it, add and remove papers, search it, check it."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from vectorstore.catalogue import Catalogue
from vectorstore.embedding import Embedder
from vectorstore.errors import IndexDamaged, IndexMismatch, IndexMissing, PaperNotFound
from vectorstore.filters import Filters
from vectorstore.manifest import NAME, Manifest
from vectorstore.papers import Paper, Passage
from vectorstore.search import DENSE_PASSAGES, KEYWORD_PAPERS, Found, Term, inverse_document_frequency, question_terms, rank
from vectorstore.vectors import Vectors
from vectorstore.writing import CATALOGUE, CHROMA, Progress, build, finish, mend_swap, writer_lock

_EXACT_UP_TO = 200
"""Papers that a filter may leave before the nearest passages are looked up approximately; 200 take about 25 ms exactly."""


@dataclass(frozen=True, slots=True)
class Added:
    """What :meth:`PaperIndex.add` did, in papers."""

    added: int
    changed: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class Status:
    """Health of an index: its manifest, size on disk in bytes, and one line for each fault found."""

    folder: Path
    manifest: Manifest
    size_bytes: int
    problems: tuple[str, ...]


class PaperIndex:
    """Papers with their vectors and words in one folder. Threads may share it; one process at a time writes.

    A change made by another process is noticed at the next search.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        """Open the index in ``folder``; the model is loaded at the first search.

        Raises:
            IndexMissing: nothing there.
            IndexMismatch: made with another model, text version or format.
            IndexDamaged: files are missing or contradict one another.
        """
        self.folder = folder.expanduser().resolve()
        self.embedder = embedder
        self._lock = threading.RLock()
        self._frequencies: dict[str, int] = {}
        self._weights_checked = False
        if not (self.folder / NAME).exists():
            _explain_absence(self.folder)
        self._manifest = Manifest.read(self.folder)
        self._manifest.check(embedder.model)
        self._stamp = _stamp(self.folder)
        self._catalogue = Catalogue(self.folder / CATALOGUE)
        if not (self.folder / CHROMA / "chroma.sqlite3").is_file():
            raise IndexDamaged(f"the vectors in {self.folder / CHROMA} are missing; run: qa-bot rebuild")
        self._vectors = Vectors(self.folder / CHROMA)
        self._check_counts()

    @classmethod
    def create(cls, folder: Path, papers: Sequence[Paper], embedder: Embedder, *, progress: Progress | None = None) -> PaperIndex:
        """The index in ``folder``, made of ``papers`` if there is none yet. Two processes may try at once: one builds, one waits."""
        folder = folder.expanduser().resolve()
        with writer_lock(folder, wait=900):
            if not (folder / NAME).exists():
                if folder.is_dir() and any(folder.iterdir()):
                    _explain_absence(folder)
                build(folder, papers, embedder, progress=progress)
        return cls(folder, embedder)

    @classmethod
    def rebuild(cls, folder: Path, embedder: Embedder, *, progress: Progress | None = None) -> PaperIndex:
        """A new index from the papers in the old one's catalogue, with today's model; the old one serves until it is complete."""
        folder = folder.expanduser().resolve()
        with writer_lock(folder):
            if not (folder / CATALOGUE).is_file():
                _explain_absence(folder)
            catalogue = Catalogue(folder / CATALOGUE)
            papers = [_fresh(paper) for paper in catalogue.papers()]
            catalogue.close()
            try:
                generation = Manifest.read(folder).generation + 1
            except (IndexDamaged, IndexMismatch):
                generation = 1
            build(folder, papers, embedder, generation=generation, progress=progress)
        return cls(folder, embedder)

    def __enter__(self) -> PaperIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release all files."""
        with self._lock:
            self._vectors.close()
            self._catalogue.close()

    @property
    def manifest(self) -> Manifest:
        """How the index was made, as last read."""
        return self._manifest

    def add(self, papers: Sequence[Paper], *, progress: Progress | None = None) -> Added:
        """Add papers, replace those with the same id whole, and finish what an interrupted run left.

        Raises:
            IndexBusy: another process is writing.
        """
        with writer_lock(self.folder), self._lock:
            self._refresh()
            self._check_weights()
            counts = self._catalogue.put(papers)
            if counts["added"] or counts["changed"] or self._catalogue.pending_count():
                self._finish(progress)
        return Added(**counts)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove papers; all of them or, if one is unknown, none. Returns their number.

        Raises:
            PaperNotFound: names the unknown ids.
        """
        wanted = list(dict.fromkeys(ids))
        with writer_lock(self.folder), self._lock:
            self._refresh()
            known = self._catalogue.get(wanted)
            if unknown := tuple(i for i in wanted if i not in known):
                raise PaperNotFound(unknown)
            self._catalogue.remove(wanted)
            self._finish(None)
        return len(wanted)

    def repair(self, *, progress: Progress | None = None) -> bool:
        """Finish what an interrupted run left, if anything; returns whether there was something."""
        if not self._catalogue.pending_count():
            return False
        self.add([], progress=progress)
        return True

    def get(self, ids: Sequence[str]) -> dict[str, Paper]:
        """Papers by id; unknown ids are left out."""
        return self._catalogue.get(ids)

    def papers(self, filters: Filters = Filters(), *, limit: int = -1, offset: int = 0) -> Iterator[Paper]:
        """Papers for which the filters hold, by title."""
        return self._catalogue.papers(filters, limit=limit, offset=offset)

    def count(self, filters: Filters = Filters()) -> int:
        """Number of papers for which the filters hold."""
        return self._catalogue.count(filters)

    def search(self, question: str, *, k: int = 10, filters: Filters = Filters()) -> Found:
        """The ``k`` papers that answer a question best: nearest sentences and matching words, fused, one hit a paper.

        Raises:
            IndexMismatch: the embedding model has changed.
            IndexDamaged: vectors are missing.
        """
        with self._lock:
            self._refresh()
            self._check_weights()
        vector = self.embedder.embed_query(question)
        words = question_terms(question)
        terms = tuple(Term(word, inverse_document_frequency(self._manifest.papers, self._frequency(word))) for word in words)
        bm25 = dict(self._catalogue.keyword_search(words, KEYWORD_PAPERS, filters))
        papers = self._catalogue.get(sorted(self._near(vector, filters) | bm25.keys()), searchable=True)
        passages = self._scored(papers, vector)
        return Found(tuple(rank(papers, passages, bm25, terms)[:k]), terms, self._manifest.papers)

    def status(self) -> Status:
        """Check every paper and vector, which takes seconds on thousands of papers."""
        with self._lock:
            self._refresh()
            problems = []
            if undone := self._catalogue.pending_count():
                problems.append(f"{undone} papers are not embedded or removed completely; run: qa-bot add with the same file")
            expected = {passage.id for paper in self._catalogue.papers() for passage in paper.passages}
            found = set(self._vectors.ids())
            if missing := len(expected - found):
                problems.append(f"{missing} of {len(expected)} passages have no vector; run: qa-bot rebuild")
            if extra := len(found - expected):
                problems.append(f"{extra} vectors belong to no paper; run: qa-bot rebuild")
        size = sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())
        return Status(self.folder, self._manifest, size, tuple(problems))

    def _near(self, vector: np.typing.NDArray[np.float32], filters: Filters) -> set[str]:
        k = DENSE_PASSAGES
        allowed = self._catalogue.ids(filters) if filters else None
        if allowed is not None:
            if len(allowed) <= _EXACT_UP_TO:
                return allowed
            # filtered here, since Chroma's own filter took 80 ms where it held for every passage
            k = math.ceil(1.5 * k * self._manifest.papers / len(allowed))
        found = {passage_id.rpartition("#")[0] for passage_id, _ in self._vectors.nearest(vector, k)}
        return found if allowed is None else found & allowed

    def _scored(self, papers: dict[str, Paper], vector: np.typing.NDArray[np.float32]) -> dict[str, list[tuple[Passage, float]]]:
        wanted = [passage for paper in papers.values() for passage in paper.passages]
        vectors = self._vectors.get([passage.id for passage in wanted])
        if len(vectors) < len(wanted):
            self._vectors.reopen()  # another process may have added them since
            vectors = self._vectors.get([passage.id for passage in wanted])
        if len(vectors) < len(wanted):
            raise IndexDamaged(f"{len(wanted) - len(vectors)} vectors are missing from {self.folder}; run: qa-bot rebuild")
        scored: dict[str, list[tuple[Passage, float]]] = {paper_id: [] for paper_id in papers}
        if wanted:
            similarities = np.stack([vectors[passage.id] for passage in wanted]) @ vector
            for passage, similarity in zip(wanted, similarities.tolist(), strict=True):
                scored[passage.paper_id].append((passage, similarity))
        return scored

    def _frequency(self, word: str) -> int:
        known = self._frequencies.get(word)
        if known is None:
            known = self._frequencies[word] = self._catalogue.document_frequency(word)
        return known

    def _finish(self, progress: Progress | None) -> None:
        self._manifest = finish(
            self.folder, self._manifest, self._catalogue, self._vectors, self.embedder, generation=self._manifest.generation + 1, progress=progress
        )
        self._stamp = _stamp(self.folder)
        self._frequencies.clear()

    def _refresh(self) -> None:
        if _stamp(self.folder) == self._stamp:
            return
        manifest = Manifest.read(self.folder)
        manifest.check(self.embedder.model)
        self._catalogue.close()
        self._catalogue = Catalogue(self.folder / CATALOGUE)
        self._vectors.reopen()
        self._manifest, self._stamp, self._weights_checked = manifest, _stamp(self.folder), False
        self._frequencies.clear()

    def _check_weights(self) -> None:
        if not self._weights_checked:
            self._manifest.check_weights(self.embedder.fingerprint)
            self._weights_checked = True

    def _check_counts(self) -> None:
        expected, found = self._catalogue.passage_count(), self._vectors.count()
        if expected != found and not self._catalogue.pending_count():
            raise IndexDamaged(f"the catalogue expects {expected} passages, the vectors are {found}; run: qa-bot rebuild")


def _stamp(folder: Path) -> tuple[int, int]:
    try:
        stat = (folder / NAME).stat()
    except FileNotFoundError:
        raise IndexMissing(f"the index in {folder} is gone; build it again with: qa-bot add FILE") from None
    return stat.st_mtime_ns, stat.st_ino


def _fresh(paper: Paper) -> Paper:
    # without the cached readable text, which another text version may have made
    return Paper(paper.id, paper.raw_title, paper.raw_abstract, paper.authors, paper.year, paper.venue, paper.topic, paper.url)


def _explain_absence(folder: Path) -> None:
    if folder.with_name(folder.name + ".old").exists():
        mend_swap(folder)
        return
    if not folder.exists():
        raise IndexMissing(f"there is no index in {folder}; make one with: qa-bot add FILE")
    if folder.is_dir() and (folder / CATALOGUE).exists():
        raise IndexDamaged(f"{folder / NAME} is missing; run: qa-bot rebuild")
    if folder.is_dir() and not any(folder.iterdir()):
        raise IndexMissing(f"there is no index in {folder}, the folder is empty; make one with: qa-bot add FILE")
    raise IndexDamaged(f"{folder} is not an index (no {NAME} in it); set QA_BOT_INDEX to an index, or to a folder that doesn't exist yet")
