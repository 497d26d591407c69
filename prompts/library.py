"""Access to the prompt files; placeholders are written ``$name`` and ``$$`` is a dollar sign."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from string import Template


@lru_cache(maxsize=64)
def text(name: str) -> str:
    """Text of the prompt file ``name`` (without ``.md``), without its final line break.

    Raises:
        FileNotFoundError: there is no such prompt.
    """
    return resources.files("prompts").joinpath(f"{name}.md").read_text("utf-8").removesuffix("\n")


def fill(name: str, **values: object) -> str:
    """The prompt with its placeholders replaced; values are put in as they are and never parsed.

    Raises:
        KeyError: a placeholder has no value.
    """
    return Template(text(name)).substitute({key: str(value) for key, value in values.items()})


def names() -> list[str]:
    """Names of all prompts, sorted."""
    return sorted(entry.name.removesuffix(".md") for entry in resources.files("prompts").iterdir() if entry.name.endswith(".md"))
