"""Shared parts: the real model, a real index of the bundled papers, and the network blocked but for loopback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pytest_socket import socket_allow_hosts

from qa_bot.bot import PaperBot
from qa_bot.cli import main
from qa_bot.quiet import silence
from vectorstore import Embedder, PaperIndex, load_papers
from vectorstore.papers import Paper, paper_from_record

silence()

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No network but loopback, no settings and no data folder of whoever runs the tests."""
    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)
    import os

    for name in [name for name in os.environ if name.startswith("QA_BOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return Embedder()


@pytest.fixture(scope="session")
def bundled() -> tuple[Paper, ...]:
    with resources.as_file(resources.files("vectorstore.corpora").joinpath("icml2026.jsonl")) as source:
        return load_papers(source).papers


@pytest.fixture(scope="session")
def index_folder(tmp_path_factory: pytest.TempPathFactory, bundled: Sequence[Paper], embedder: Embedder) -> Path:
    """Folder of an index of the 38 bundled papers; tests only read it."""
    folder = tmp_path_factory.mktemp("bundled") / "index"
    PaperIndex.create(folder, bundled, embedder).close()
    return folder


@pytest.fixture(scope="session")
def index(index_folder: Path, embedder: Embedder) -> Iterator[PaperIndex]:
    with PaperIndex(index_folder, embedder) as opened:
        yield opened


@pytest.fixture(scope="session")
def bot(index: PaperIndex) -> PaperBot:
    return PaperBot(index)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def folder(tmp_path: Path, index_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundled index, set as the default."""
    copy = Path(shutil.copytree(index_folder, tmp_path / "copy"))
    monkeypatch.setenv("QA_BOT_INDEX", str(copy))
    return copy


def record(paper_id: str = "p1", **fields: Any) -> dict[str, Any]:
    """A complete record of a small paper; ``fields`` replace its own, None takes one out."""
    base = {
        "id": paper_id,
        "title": "Counting Pebbles",
        "authors": ["Ada Pebble", "Bo Shell"],
        "abstract": "We count pebbles on a beach. The count is 42. Code is at https://example.org/pebbles.",
        "year": 2026,
        "venue": "BeachConf 2026",
        "topic": "Beaches->Pebbles",
        "url": "https://example.org/p1",
    }
    return {name: value for name, value in {**base, **fields}.items() if value is not None}


def paper(paper_id: str = "p1", **fields: Any) -> Paper:
    """The paper of :func:`record`."""
    return paper_from_record(record(paper_id, **fields))


def write_jsonl(file: Path, records: Sequence[Any]) -> Path:
    """A JSON Lines file of records; text entries are written as they are."""
    file.write_text("".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in records), "utf-8")
    return file


SHELLS = {
    "title": "Weighing Shells",
    "abstract": "We weigh shells with a spring. Shells weigh 7 grams.",
    "authors": ["Cy Sand"],
    "year": 2024,
    "venue": "ShellConf",
    "topic": "Beaches->Shells",
}
BEES = {
    "title": "Bees Dance",
    "abstract": "Bees tell each other where flowers are. They dance.",
    "authors": ["José Núñez"],
    "year": 2025,
    "venue": "BeeConf",
    "topic": None,
}


def three() -> list[Paper]:
    """Papers a (pebbles), b (shells) and c (bees): seven passages."""
    return [paper("a"), paper("b", **SHELLS), paper("c", **BEES)]


@pytest.fixture
def small(tmp_path: Path, embedder: Embedder) -> PaperIndex:
    """A new index of :func:`three`."""
    return PaperIndex.create(tmp_path / "index", three(), embedder)


def best(index: PaperIndex, question: str, **options: Any) -> list[str]:
    """Ids of the papers found, best first."""
    return [hit.paper.id for hit in index.search(question, **options).hits]
