"""What can go wrong in the store, as a short tree; every message is one line that names the value and the remedy.

StoreError
├── SourceError         a file of papers can't be read
├── FilterError         a filter names an unknown field or an impossible value
├── PaperNotFound       an id that the index doesn't hold
├── ModelError          the embedding model is missing or altered
└── IndexFault
    ├── IndexMissing    no index there
    ├── IndexMismatch   built with another model, text version or format
    ├── IndexDamaged    files are missing or don't fit each other
    └── IndexBusy       another process is writing
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of all expected failures of the store. ``usage`` is true if the caller asked for something impossible."""

    usage = False


class SourceError(StoreError):
    """A file of papers can't be read at all."""


class FilterError(StoreError):
    """A filter that can't be applied."""

    usage = True


class PaperNotFound(StoreError):
    """Ids that the index doesn't hold, in ``ids``."""

    def __init__(self, ids: tuple[str, ...]) -> None:
        self.ids = ids
        super().__init__(f"not in the index: {', '.join(map(repr, ids))}; `qa-bot list` shows the ids")


class ModelError(StoreError):
    """The embedding model can't be used."""


class IndexFault(StoreError):
    """The index can't serve."""


class IndexMissing(IndexFault):
    """There is no index at the given place."""


class IndexMismatch(IndexFault):
    """The index was built in a way that today's settings can't search."""


class IndexDamaged(IndexFault):
    """Files of the index are missing or contradict one another."""


class IndexBusy(IndexFault):
    """Another process holds the writer lock."""
