"""The index of papers: open it, add and remove papers, search it, check it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from vectorstore.catalogue import Catalogue
from vectorstore.embedding import Embedder
from vectorstore.errors import IndexDamaged, IndexMismatch, IndexMissing, PaperNotFound
from vectorstore.filters import Filters
from vectorstore.manifest import NAME, Manifest
from vectorstore.papers import Paper
from vectorstore.retrieval import hybrid_search
from vectorstore.search import KEYWORD_PAPERS, Found, Term, inverse_document_frequency, keyword_share, question_terms
from vectorstore.spelling import corrected
from vectorstore.text import storable
from vectorstore.vectors import Vectors
from vectorstore.writing import CATALOGUE, CHROMA, Progress, build, explain_absence, finish, is_ours, stores, writer_lock

_ATTEMPTS = 4


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
        self._catalogue: Catalogue | None = None
        self._vectors: Vectors | None = None
        self._stamp: tuple[int, int] | None = None
        try:
            self._open()
            self._check_counts()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, folder: Path, papers: Sequence[Paper], embedder: Embedder, *, progress: Progress | None = None) -> PaperIndex:
        """The index in ``folder``, made of ``papers`` if there is none yet. Two processes may try at once: one builds, one waits."""
        folder = folder.expanduser().resolve()
        if folder.exists() and not (folder.is_dir() and is_ours(folder)):
            explain_absence(folder)
        with writer_lock(folder, wait=900):
            if not (folder / NAME).exists():
                if stores(folder):
                    explain_absence(folder)
                build(folder, papers, embedder, progress=progress)
        return cls(folder, embedder)

    @classmethod
    def rebuild(cls, folder: Path, embedder: Embedder, *, progress: Progress | None = None) -> PaperIndex:
        """A new index from the papers in the old one's catalogue, with today's model; the old one serves until it is complete."""
        folder = folder.expanduser().resolve()
        if not folder.is_dir() or not stores(folder):
            explain_absence(folder)
        with writer_lock(folder):
            store, generation = stores(folder)[-1], 1
            try:
                manifest = Manifest.read(folder)
                store, generation = folder / manifest.store, manifest.generation + 1
            except (IndexDamaged, IndexMismatch):
                pass
            catalogue = Catalogue(store / CATALOGUE)
            try:
                papers = [_fresh(paper) for paper in catalogue.papers()]
            finally:
                catalogue.close()
            build(folder, papers, embedder, generation=generation, progress=progress)
        return cls(folder, embedder)

    def __enter__(self) -> PaperIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release all files; a later call opens them again."""
        with self._lock:
            for part in (self._vectors, self._catalogue):
                if part is not None:
                    part.close()
            self._vectors = self._catalogue = None

    @property
    def manifest(self) -> Manifest:
        """How the index was made, as last read."""
        return self._manifest

    def add(self, papers: Sequence[Paper], *, progress: Progress | None = None) -> Added:
        """Add papers, replace those with the same id whole, and finish what an interrupted run left.

        Raises:
            IndexBusy: another process is writing.
        """
        with writer_lock(self.folder):
            catalogue, _ = self._current()
            self._check_weights()
            counts = catalogue.put(papers)
            if counts["added"] or counts["changed"] or self._unfinished():
                self._finish(progress)
        return Added(**counts)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove papers; all of them or, if one is unknown, none. Returns their number.

        Raises:
            PaperNotFound: names the unknown ids.
        """
        wanted = list(dict.fromkeys(ids))
        with writer_lock(self.folder):
            catalogue, _ = self._current()
            known = catalogue.get(wanted)
            if unknown := tuple(i for i in wanted if i not in known):
                raise PaperNotFound(unknown)
            catalogue.remove(wanted)
            self._finish(None)
        return len(wanted)

    def repair(self, *, progress: Progress | None = None) -> bool:
        """Finish what an interrupted run left, if anything; returns whether there was something."""
        if not self._unfinished():
            return False
        self.add([], progress=progress)
        return True

    def get(self, ids: Sequence[str]) -> dict[str, Paper]:
        """Papers by id; unknown ids are left out."""
        return self._current()[0].get(ids)

    def papers(self, filters: Filters = Filters(), *, limit: int = -1, offset: int = 0) -> Iterator[Paper]:
        """Papers for which the filters hold, by title."""
        return self._current()[0].papers(filters, limit=limit, offset=offset)

    def count(self, filters: Filters = Filters()) -> int:
        """Number of papers for which the filters hold."""
        return self._current()[0].count(filters)

    def search(self, question: str, *, k: int = 10, filters: Filters = Filters()) -> Found:
        """The ``k`` papers that answer a question best: nearest sentences and matching words, fused, one hit a paper.

        Raises:
            IndexMismatch: the embedding model has changed.
            IndexDamaged: vectors are missing.
        """
        self._check_weights()
        vector = self.embedder.embed_query(storable(question))
        words = question_terms(storable(question))
        for attempt in range(_ATTEMPTS):
            with self._lock:
                try:
                    catalogue, vectors = self._current()
                    terms = self._terms(words, catalogue)
                    hits = hybrid_search(catalogue, vectors, terms, vector, filters=filters, total=self._manifest.papers)
                    return Found(tuple(hits[:k]), terms, self._manifest.papers)
                except (IndexDamaged, IndexMissing):
                    # another process may have written since the files were opened: look again before giving up
                    if attempt == _ATTEMPTS - 1:
                        raise
                    self._stamp = None
            time.sleep(0.1 * attempt)
        raise AssertionError("unreachable")

    def corrected(self, question: str) -> str:
        """``question`` with slips and abbreviations mended from the papers' own words; see :func:`vectorstore.spelling.corrected`."""
        return corrected(question, self._current()[0], self.embedder.is_word)

    def keyword_search(self, question: str, *, k: int = 10) -> list[tuple[Paper, float]]:
        """The ``k`` papers (at most 50) that match the question's words best, by BM25 alone, with its share of what could be reached, 0 to 1."""
        with self._lock:
            catalogue, _ = self._current()
            terms = self._terms(question_terms(storable(question)), catalogue)
            found = sorted(catalogue.keyword_search([term.word for term in terms], KEYWORD_PAPERS), key=lambda entry: (-entry[1], entry[0]))[:k]
            papers = catalogue.get([paper_id for paper_id, _ in found], searchable=True)
        return [(papers[paper_id], keyword_share(bm25, terms)) for paper_id, bm25 in found if paper_id in papers]

    def status(self) -> Status:
        """Check every paper and vector, which takes seconds on thousands of papers."""
        with self._lock:
            catalogue, vectors = self._current()
            problems = []
            if undone := catalogue.pending_count():
                problems.append(f"an interrupted write left {undone} papers undone; finish it with: qa-bot add FILE (the same file)")
            pending = {paper.id for paper, _ in catalogue.pending()}
            expected = {passage.id for paper in catalogue.papers() if paper.id not in pending for passage in paper.passages}
            found = set(vectors.ids())
            if missing := len(expected - found):
                problems.append(f"{missing} of {len(expected)} passages have no vector; run: qa-bot rebuild")
            if not undone and (extra := len(found - expected)):
                problems.append(f"{extra} vectors belong to no paper; run: qa-bot rebuild")
        size = sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())
        return Status(self.folder, self._manifest, size, tuple(problems))

    def _terms(self, words: Sequence[str], catalogue: Catalogue) -> tuple[Term, ...]:
        for word in words:
            if word not in self._frequencies:
                self._frequencies[word] = catalogue.document_frequency(word)
        return tuple(Term(word, inverse_document_frequency(self._manifest.papers, self._frequencies[word])) for word in words)

    def _open(self) -> None:
        if not (self.folder / NAME).exists():
            explain_absence(self.folder)
        stamp = _stamp(self.folder)
        manifest = Manifest.read(self.folder)
        manifest.check(self.embedder.model)
        store = self.folder / manifest.store
        if not (store / CHROMA / "chroma.sqlite3").is_file():
            raise IndexDamaged(f"the vectors in {store / CHROMA} are missing; run: qa-bot rebuild")
        self._catalogue = Catalogue(store / CATALOGUE)
        self._vectors = Vectors(store / CHROMA)
        self._manifest, self._stamp, self._weights_checked = manifest, stamp, False
        self._frequencies: dict[str, int] = {}

    def _current(self) -> tuple[Catalogue, Vectors]:
        """The open files, opened anew if another process has written since."""
        with self._lock:
            if self._catalogue is None or self._vectors is None or _stamp(self.folder) != self._stamp:
                self.close()
                self._open()
            assert self._catalogue is not None
            assert self._vectors is not None
            return self._catalogue, self._vectors

    def _unfinished(self) -> bool:
        catalogue, _ = self._current()
        return catalogue.pending_count() > 0 or catalogue.count() != self._manifest.papers

    def _finish(self, progress: Progress | None) -> None:
        catalogue, vectors = self._current()
        manifest = finish(self._manifest, catalogue, vectors, self.embedder, generation=self._manifest.generation + 1, progress=progress)
        with self._lock:
            manifest.write(self.folder)
            self._manifest, self._stamp = manifest, _stamp(self.folder)
            self._frequencies = {}

    def _check_weights(self) -> None:
        self._current()
        if not self._weights_checked:
            self._manifest.check_weights(self.embedder.fingerprint)
            self._weights_checked = True

    def _check_counts(self) -> None:
        catalogue, vectors = self._current()
        for _ in range(2):  # a writer may finish between the two counts
            expected, found = catalogue.passage_count(), vectors.count()
            if expected == found or catalogue.pending_count():
                return
        raise IndexDamaged(f"the catalogue expects {expected} passages, the vectors are {found}; run: qa-bot rebuild")


def _stamp(folder: Path) -> tuple[int, int]:
    try:
        stat = (folder / NAME).stat()
    except OSError:
        raise IndexMissing(f"the index in {folder} is gone; build it again with: qa-bot add FILE") from None
    return stat.st_mtime_ns, stat.st_ino


def _fresh(paper: Paper) -> Paper:
    # without the cached readable text, which another text version may have made
    return Paper(paper.id, paper.raw_title, paper.raw_abstract, paper.authors, paper.year, paper.venue, paper.topic, paper.url)
