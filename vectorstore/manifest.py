"""The index's own description: how its vectors were made and how many there are."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from vectorstore.embedding import Fingerprint
from vectorstore.errors import IndexDamaged, IndexMismatch
from vectorstore.text import TEXT_VERSION

FORMAT = 1
NAME = "manifest.json"
_KINDS = {
    **dict.fromkeys(("model", "weights_sha256", "chromadb", "store"), str),
    **dict.fromkeys(("dimension", "text_version", "papers", "passages", "generation"), int),
    "prompts": dict,
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of ``manifest.json``. ``generation`` grows with each finished write; ``model`` is the setting's value; ``store`` the folder with the data."""

    format: int
    model: str
    weights_sha256: str
    dimension: int
    prompts: dict[str, str]
    text_version: int
    chromadb: str
    store: str
    papers: int = 0
    passages: int = 0
    generation: int = 0

    @classmethod
    def new(cls, fingerprint: Fingerprint, store: str) -> Manifest:
        """Manifest of an empty index for this model and this program."""
        made_by = version("chromadb")
        return cls(FORMAT, fingerprint.model, fingerprint.weights_sha256, fingerprint.dimension, fingerprint.prompts, TEXT_VERSION, made_by, store)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest in ``folder``.

        Raises:
            IndexDamaged: unreadable.
            IndexMismatch: of a format that this program doesn't know.
        """
        file = folder / NAME
        try:
            fields = json.loads(file.read_text("utf-8"))
            if fields["format"] != FORMAT:
                raise IndexMismatch(f"{folder} has index format {fields['format']!r}, this program reads {FORMAT}; run: qa-bot rebuild")
            manifest = cls(**fields)
            if wrong := [name for name, kind in _KINDS.items() if not isinstance(getattr(manifest, name), kind)]:
                raise IndexDamaged(f"{file} has an impossible {wrong[0]}; run: qa-bot rebuild")
            return manifest
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexDamaged(f"{file} can't be read ({type(error).__name__}); run: qa-bot rebuild") from None

    def write(self, folder: Path) -> None:
        """Replace the manifest in ``folder`` in one step, so that a reader sees the old or the new one."""
        partial = folder / (NAME + ".part")
        with partial.open("w", encoding="utf-8") as stream:
            json.dump(asdict(self), stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(folder / NAME)

    def check(self, model: str) -> None:
        """Refuse an index that was made for another setting.

        Raises:
            IndexMismatch: with both values and the remedy.
        """
        if self.model != model:
            raise IndexMismatch(
                f"the index was built with embedding model {self.model!r}, the setting is {model!r}; run qa-bot rebuild, or set QA_BOT_EMBEDDING_MODEL={self.model}"
            )
        if self.text_version != TEXT_VERSION:
            raise IndexMismatch(f"the index has text version {self.text_version}, this program has {TEXT_VERSION}; run: qa-bot rebuild")

    def check_weights(self, fingerprint: Fingerprint) -> None:
        """Refuse a model of the same name with other weights, width or prefixes.

        Raises:
            IndexMismatch: with the remedy.
        """
        for name in ("weights_sha256", "dimension", "prompts"):
            then, now = getattr(self, name), getattr(fingerprint, name)
            if then != now:
                then, now = (str(value)[:12] + "…" if name == "weights_sha256" else value for value in (then, now))
                raise IndexMismatch(
                    f"embedding model {self.model!r} has changed since the index was built ({name} {then} then, {now} now); run: qa-bot rebuild"
                )
