"""How an index is written: one writer at a time, catalogue first, vectors second, whole folders swapped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from vectorstore.catalogue import Catalogue
from vectorstore.embedding import Embedder, passage_text
from vectorstore.errors import IndexBusy, IndexDamaged
from vectorstore.manifest import NAME, Manifest
from vectorstore.papers import Paper
from vectorstore.vectors import Vectors

Progress = Callable[[int, int], None]
"""Called with passages done and passages to do."""

CATALOGUE = "catalogue.sqlite"
CHROMA = "chroma"
_PAPERS_A_STEP = 64


@contextmanager
def writer_lock(folder: Path, *, wait: float = 30.0) -> Iterator[None]:
    """Hold the index's writer lock, a file beside the folder; it is released if the process dies.

    Raises:
        IndexBusy: another process still writes after ``wait`` seconds.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(_beside(folder, "lock"))
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise IndexBusy(f"another process is writing to {folder}; try again when it has finished") from None
    try:
        mend_swap(folder)
        yield
    finally:
        lock.release()


def build(folder: Path, papers: Sequence[Paper], embedder: Embedder, *, generation: int = 1, progress: Progress | None = None) -> None:
    """Make a complete index aside and put it in the place of ``folder``. The caller holds the writer lock."""
    aside = _beside(folder, "new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    manifest = Manifest.new(embedder.fingerprint)
    catalogue = Catalogue(aside / CATALOGUE, create=True)
    vectors = Vectors(aside / CHROMA)
    try:
        catalogue.put(papers)
        finish(aside, manifest, catalogue, vectors, embedder, generation=generation, progress=progress)
    finally:
        vectors.close()
        catalogue.close()
    old = _beside(folder, "old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def mend_swap(folder: Path) -> None:
    """Finish or undo a swap that a kill interrupted between its two renames. The caller holds the writer lock."""
    old = _beside(folder, "old")
    if old.exists() and not folder.exists():
        aside = _beside(folder, "new")
        # the old folder moves away only after the new one is complete
        (aside if (aside / NAME).exists() else old).rename(folder)


def finish(
    folder: Path,
    manifest: Manifest,
    catalogue: Catalogue,
    vectors: Vectors,
    embedder: Embedder,
    *,
    generation: int,
    progress: Progress | None = None,
) -> Manifest:
    """Bring the vectors in line with the catalogue, then write and return the new manifest.

    A paper counts as embedded only after all its vectors are in, so an interrupted run is completed by the next.
    """
    ghosts = catalogue.ghosts()
    for paper_id, count in ghosts:
        vectors.remove([f"{paper_id}#{number}" for number in range(count)])
    catalogue.bury(paper_id for paper_id, _ in ghosts)
    pending = catalogue.pending()
    total = sum(len(paper.passages) for paper, _ in pending)
    done = 0
    for at in range(0, len(pending), _PAPERS_A_STEP):
        step = pending[at : at + _PAPERS_A_STEP]
        papers = [paper for paper, _ in step]
        texts = [passage_text(paper.title, passage.text) for paper in papers for passage in paper.passages]

        def count_up(more: int) -> None:
            nonlocal done
            done += more
            if progress:
                progress(done, total)

        embedded = embedder.embed_documents(texts, count_up)
        catalogue.expect(papers)
        vectors.put([passage for paper in papers for passage in paper.passages], embedded)
        vectors.remove([f"{paper.id}#{number}" for paper, old in step for number in range(len(paper.passages), old)])
        catalogue.mark_embedded(papers)
    passages, found = catalogue.passage_count(), vectors.count()
    if passages != found:
        raise IndexDamaged(f"the catalogue expects {passages} passages, the vectors are {found}; run: qa-bot rebuild")
    manifest = replace(manifest, papers=catalogue.count(), passages=passages, generation=generation)
    manifest.write(folder)
    return manifest


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(f"{folder.name}.{suffix}")
