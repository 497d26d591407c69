"""JSON Lines, one paper a line, plain or gzip-compressed; a JSON array of papers, or one under "papers", is read too."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vectorstore.errors import SourceError
from vectorstore.papers import Paper, RecordError, paper_from_record

# UTF-32's little-endian mark begins with UTF-16's
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that was left out: ``where`` is ``file:line``, ``reason`` says why."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a source held: papers in order, unique by id; rejected records; number of exact repeats skipped."""

    papers: tuple[Paper, ...]
    rejected: tuple[Rejected, ...] = ()
    duplicates: int = 0


def load_papers(source: Path) -> Loaded:
    """All papers of a JSON Lines file (``.jsonl``, ``.json`` or either with ``.gz``), good records kept, bad ones reported.

    A record that repeats an id with equal content is counted in ``duplicates``; with other content it is rejected.

    Raises:
        SourceError: missing, a folder, empty, binary, or without a single record.
    """
    papers: dict[str, Paper] = {}
    first_seen: dict[str, str] = {}
    rejected: list[Rejected] = []
    duplicates = 0
    for where, line in _records(source):
        try:
            paper = paper_from_record(_parsed(line))
        except RecordError as error:
            rejected.append(Rejected(where, str(error)))
            continue
        known = papers.setdefault(paper.id, paper)
        if known is paper:
            first_seen[paper.id] = where
        elif known.content_hash == paper.content_hash:
            duplicates += 1
        else:
            rejected.append(Rejected(where, f"id {paper.id!r} was already used at {first_seen[paper.id]} for other content; the first is kept"))
    if not papers and not rejected:
        raise SourceError(f"{source}: no records; expected JSON Lines, one paper a line with id, title and abstract")
    return Loaded(tuple(papers.values()), tuple(rejected), duplicates)


def _records(source: Path) -> Iterator[tuple[str, bytes | object]]:
    data = _content(source)
    encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), None)
    if encoding:
        try:
            data = data.decode(encoding).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise SourceError(f"{source}: starts like {encoding} text but is not ({error.reason}); save it as UTF-8") from None
    elif b"\x00" in data[:65536]:
        raise SourceError(f"{source}: is a binary file; expected JSON Lines text, one paper a line")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    records = _document(data)
    if records is not None:
        for number, record in enumerate(records, start=1):
            yield f"{source}: item {number}", record
        return
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield f"{source}:{number}", line


def _content(source: Path) -> bytes:
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"{source}: no such file") from None
    except IsADirectoryError:
        raise SourceError(f"{source}: is a folder; give a JSON Lines file") from None
    except OSError as error:
        raise SourceError(f"{source}: can't be read ({error.strerror})") from None
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise SourceError(f"{source}: damaged gzip file ({error})") from None
    if not data.strip():
        raise SourceError(f"{source}: is empty; expected JSON Lines, one paper a line")
    return data


def _document(data: bytes) -> list[bytes | object] | None:
    """The records if ``data`` is one JSON document and not a document a line; of a torn array the whole ones and the rest as bytes."""
    whole = _loaded(data)
    if isinstance(whole, dict) and isinstance(whole.get("papers"), list):
        return list(whole["papers"])
    first_line = data.lstrip().partition(b"\n")[0]
    if whole is None and (not first_line.startswith(b"[") or _loaded(first_line) is not None):
        return None
    if whole is not None:
        return whole if isinstance(whole, list) else [whole] if _loaded(first_line) is None else None
    text = data.decode("utf-8", "replace")
    decoder, items, at = json.JSONDecoder(), list[bytes | object](), text.index("[") + 1
    while at < len(text):
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n,"))
        try:
            item, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [*items, text[at:].encode()] if text[at:].strip("] \t\r\n") else items
        items.append(item)
    return items


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _parsed(line: bytes | object) -> object:
    if not isinstance(line, bytes):
        return line
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 text (byte {error.object[error.start]:#04x} at position {error.start})") from None
    except json.JSONDecodeError as error:
        raise RecordError(f"is not JSON ({error.msg} at column {error.colno})") from None
    except (RecursionError, ValueError) as error:
        raise RecordError(f"is not usable JSON ({type(error).__name__})") from None
