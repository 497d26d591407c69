"""Texts that the program says or shows to a language model, one Markdown file each."""

from prompts.library import fill, names, text

__all__ = ["fill", "names", "text"]
