"""Papers in, ranked evidence out: the store behind the bot, usable without it."""

from vectorstore.embedding import DEFAULT_MODEL, Embedder
from vectorstore.errors import (
    FilterError,
    IndexBusy,
    IndexDamaged,
    IndexFault,
    IndexMismatch,
    IndexMissing,
    ModelError,
    PaperNotFound,
    SourceError,
    StoreError,
)
from vectorstore.filters import Filters
from vectorstore.index import Added, PaperIndex, Status
from vectorstore.loaders import Loaded, Rejected, load_papers
from vectorstore.papers import Paper, Passage
from vectorstore.search import Found, Hit, Term

__all__ = [
    "DEFAULT_MODEL",
    "Added",
    "Embedder",
    "FilterError",
    "Filters",
    "Found",
    "Hit",
    "IndexBusy",
    "IndexDamaged",
    "IndexFault",
    "IndexMismatch",
    "IndexMissing",
    "Loaded",
    "ModelError",
    "Paper",
    "PaperIndex",
    "PaperNotFound",
    "Passage",
    "Rejected",
    "SourceError",
    "Status",
    "StoreError",
    "Term",
    "load_papers",
]
