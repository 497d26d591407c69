"""The only door to chromadb: unit vectors by passage id, in one cosine collection."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vectorstore.errors import IndexDamaged
from vectorstore.papers import Passage

COLLECTION = "passages"
PAGE = 5000
"""Ids a call; Chroma refuses more than 5,461 in one write and SQLite more than 32,766 in one read."""


class Vectors:
    """The vectors of one index in a Chroma folder. One client per folder and process, closed by :meth:`close`."""

    def __init__(self, folder: Path) -> None:
        """Open the collection in ``folder``, creating both if they are missing.

        Raises:
            IndexDamaged: not a collection of ours, or unreadable.
        """
        self.folder = folder
        self._lock = threading.Lock()
        self._client: Any  # ClientAPI lacks close()
        self._client, self._collection = _open(folder)

    def close(self) -> None:
        """Release the client, so that the folder can be moved or read anew."""
        self._client.close()

    def put(self, passages: Sequence[Passage], vectors: NDArray[np.float32]) -> None:
        """Store passages with their vectors, shape ``(len(passages), dimension)``, replacing equal ids."""
        for at in range(0, len(passages), PAGE):
            page = passages[at : at + PAGE]
            self._call(
                "upsert",
                ids=[p.id for p in page],
                embeddings=vectors[at : at + PAGE],
                documents=[p.text for p in page],
                metadatas=[{"paper_id": p.paper_id, "number": p.number, "start": p.start, "end": p.end} for p in page],
            )

    def remove(self, ids: Sequence[str]) -> None:
        """Remove vectors by passage id; unknown ids are ignored."""
        for at in range(0, len(ids), PAGE):
            self._call("delete", ids=list(ids[at : at + PAGE]))

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """The ``min(k, count)`` nearest passages by cosine similarity, -1 to 1: passage id and similarity, best first."""
        found = self._call("query", query_embeddings=[vector], n_results=max(1, k), include=["distances"])
        return [(i, min(1.0, 1.0 - d)) for i, d in zip(found["ids"][0], found["distances"][0], strict=True) if not math.isnan(d)]

    def get(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors by passage id; unknown ids are left out."""
        vectors: dict[str, NDArray[np.float32]] = {}
        for at in range(0, len(ids), PAGE):
            found = self._call("get", ids=list(ids[at : at + PAGE]), include=["embeddings"])
            vectors.update(zip(found["ids"], np.asarray(found["embeddings"], dtype=np.float32), strict=True))
        return vectors

    def count(self) -> int:
        """Number of vectors."""
        return int(self._call("count"))

    def ids(self) -> Iterable[str]:
        """All passage ids, paged."""
        at = 0
        while page := self._call("get", limit=PAGE, offset=at, include=[])["ids"]:
            yield from page
            at += len(page)

    def _call(self, name: str, **arguments: Any) -> Any:
        from chromadb.errors import ChromaError

        with self._lock:
            try:
                return getattr(self._collection, name)(**arguments)
            except ChromaError as error:
                raise IndexDamaged(f"the vectors in {self.folder} can't be used ({_first_line(error)}); run: qa-bot rebuild") from error


def memory_client() -> Any:
    """A Chroma client without a folder; it forgets all when the process ends. Collections are shared by all such clients."""
    import chromadb
    from chromadb.config import Settings

    return chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))


def _open(folder: Path) -> tuple[Any, Any]:
    import chromadb
    from chromadb.config import Settings
    from chromadb.errors import ChromaError, NotFoundError

    try:
        # one place makes clients, with one Settings: Chroma refuses the same folder with different ones
        client: Any = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        try:
            collection = client.get_collection(COLLECTION, embedding_function=None)
        except NotFoundError:
            collection = client.create_collection(COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
    except (ChromaError, ValueError, OSError) as error:
        raise IndexDamaged(f"the vectors in {folder} can't be opened ({_first_line(error)}); run: qa-bot rebuild") from error
    # the raw configuration is read before anything else: a foreign one may name code that Chroma would build
    configuration = collection.configuration_json
    function = (configuration.get("embedding_function") or {}).get("type", "legacy")
    space = (configuration.get("hnsw") or {}).get("space")
    if function != "legacy" or space != "cosine":
        client.close()
        raise IndexDamaged(f"the collection in {folder} was not made by this program (space {space!r}, function {function!r}); run: qa-bot rebuild")
    return client, collection


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
