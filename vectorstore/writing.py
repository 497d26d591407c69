"""How an index is written: one writer at a time, catalogue first, vectors second, and one file that decides what counts.

An index folder holds ``manifest.json``, ``writer.lock`` and ``store-N/`` with ``catalogue.sqlite`` and ``chroma/``. A new
store is made as ``new-N/``, renamed when it is complete, and takes effect when the manifest that names it is put in place.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from filelock import FileLock, Timeout

from vectorstore.catalogue import Catalogue
from vectorstore.embedding import Embedder, passage_text
from vectorstore.errors import IndexBusy, IndexDamaged, IndexFault, IndexMissing
from vectorstore.manifest import NAME, Manifest
from vectorstore.papers import Paper
from vectorstore.vectors import Vectors

Progress = Callable[[int, int], None]
"""Called with passages done and passages to do."""

CATALOGUE = "catalogue.sqlite"
CHROMA = "chroma"
LOCK = "writer.lock"
_STORE = re.compile(r"(?:store|new)-(\d+)")
_PAPERS_A_STEP = 64


@contextmanager
def writer_lock(folder: Path, *, wait: float = 30.0) -> Iterator[None]:
    """Hold the index's writer lock; it is released if the process dies.

    Raises:
        IndexBusy: another process still writes after ``wait`` seconds.
        IndexFault: the folder can't be written.
    """
    lock = FileLock(folder / LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=wait)
    except Timeout:
        raise IndexBusy(f"another process is writing to {folder}; try again when it has finished") from None
    except OSError as error:
        raise IndexFault(f"{folder} can't be written ({error.strerror}); set QA_BOT_INDEX to a folder that can") from None
    try:
        yield
    finally:
        lock.release()


def stores(folder: Path) -> list[Path]:
    """The complete stores in an index folder, oldest first."""
    found = [entry for entry in folder.glob("store-*") if _STORE.fullmatch(entry.name) and (entry / CATALOGUE).is_file()]
    return sorted(found, key=lambda entry: int(entry.name.partition("-")[2]))


def is_ours(folder: Path) -> bool:
    """Whether everything in ``folder`` was made by this module, as after an interrupted first build."""
    return all(entry.name in (LOCK, NAME, NAME + ".part") or _STORE.fullmatch(entry.name) for entry in folder.iterdir())


def build(folder: Path, papers: Sequence[Paper], embedder: Embedder, *, generation: int = 1, progress: Progress | None = None) -> None:
    """Make a complete store of ``papers`` beside the one in use and switch to it. The caller holds the writer lock."""
    fingerprint = embedder.fingerprint
    number = 1 + max((int(match[1]) for entry in folder.iterdir() if (match := _STORE.fullmatch(entry.name))), default=0)
    aside, place = folder / f"new-{number}", folder / f"store-{number}"
    aside.mkdir()
    manifest = Manifest.new(fingerprint, place.name)
    catalogue = Catalogue(aside / CATALOGUE, create=True)
    vectors = Vectors(aside / CHROMA)
    try:
        catalogue.put(papers)
        manifest = finish(manifest, catalogue, vectors, embedder, generation=generation, progress=progress)
    finally:
        vectors.close()
        catalogue.close()
    aside.rename(place)
    manifest.write(folder)
    for entry in folder.iterdir():
        if _STORE.fullmatch(entry.name) and entry != place:
            shutil.rmtree(entry, ignore_errors=True)


def finish(manifest: Manifest, catalogue: Catalogue, vectors: Vectors, embedder: Embedder, *, generation: int, progress: Progress | None = None) -> Manifest:
    """Bring the vectors in line with the catalogue and return the manifest that says so, to be written by the caller.

    A paper counts as embedded only after all its vectors are in, so an interrupted run is completed by the next.
    """
    ghosts = catalogue.ghosts()
    for paper_id, count in ghosts:
        vectors.remove([f"{paper_id}#{number}" for number in range(count)])
    catalogue.bury(paper_id for paper_id, _ in ghosts)
    pending = catalogue.pending()
    total = sum(len(paper.passages) for paper, _ in pending)
    done = 0

    def count_up(more: int) -> None:
        nonlocal done
        done += more
        if progress:
            progress(done, total)

    for at in range(0, len(pending), _PAPERS_A_STEP):
        step = pending[at : at + _PAPERS_A_STEP]
        papers = [paper for paper, _ in step]
        passages = [passage for paper in papers for passage in paper.passages]
        embedded = embedder.embed_documents([passage_text(paper.title, passage.text) for paper in papers for passage in paper.passages], count_up)
        catalogue.expect(papers)
        vectors.put(passages, embedded)
        vectors.remove([f"{paper.id}#{number}" for paper, old in step for number in range(len(paper.passages), old)])
        catalogue.mark_embedded(papers)
    expected, found = catalogue.passage_count(), vectors.count()
    if expected != found:
        raise IndexDamaged(f"the catalogue expects {expected} passages, the vectors are {found}; run: qa-bot rebuild")
    return replace(manifest, papers=catalogue.count(), passages=expected, generation=generation)


def explain_absence(folder: Path) -> NoReturn:
    """Say why there is no index to open in ``folder``.

    Raises:
        IndexMissing: nothing there.
        IndexDamaged: something else is there, or the manifest is missing.
    """
    if folder.is_dir() and stores(folder):
        raise IndexDamaged(f"{folder / NAME} is missing; run: qa-bot rebuild")
    if not folder.exists() or (folder.is_dir() and is_ours(folder)):
        raise IndexMissing(f"there is no index in {folder}; make one with: qa-bot add FILE")
    kind = "a folder of other files" if folder.is_dir() else "a file"
    raise IndexDamaged(f"{folder} is not an index but {kind}; set QA_BOT_INDEX to an index, or to a folder that doesn't exist yet")
