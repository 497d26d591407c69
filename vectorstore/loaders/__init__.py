"""Readers of paper lists, behind one function."""

from vectorstore.loaders.jsonl import Loaded, Rejected, load_papers

__all__ = ["Loaded", "Rejected", "load_papers"]
