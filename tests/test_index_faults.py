"""Kills, other processes, damage, other models: a right answer or one clear line."""

from __future__ import annotations

import json
import multiprocessing
import threading
from pathlib import Path

import pytest
from conftest import best, paper, three

from vectorstore import Embedder, Filters, IndexBusy, IndexDamaged, IndexFault, IndexMismatch, IndexMissing, PaperIndex
from vectorstore.writing import writer_lock


def test_a_killed_write_is_finished_by_the_next(small: PaperIndex, monkeypatch: pytest.MonkeyPatch, embedder: Embedder) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("vectorstore.catalogue.Catalogue.mark_embedded", die)
        with pytest.raises(KeyboardInterrupt):
            small.add([paper("d", title="Dunes", abstract="Dunes move. They sing."), paper("a", abstract="Short now.")])
    small.close()
    with PaperIndex(small.folder, embedder) as again:
        assert again.repair() is True
        assert again.repair() is False
        assert again.status().problems == ()
        assert best(again, "singing dunes")[0] == "d"
        assert [p.text for p, _ in again.search("short", filters=Filters(ids=("a",))).hits[0].passages] == ["Short now."]


def test_another_process_sees_changes_at_its_next_search(small: PaperIndex, embedder: Embedder) -> None:
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=_add_dunes, args=(small.folder,))
    writer.start()
    writer.join(120)
    assert writer.exitcode == 0
    assert best(small, "singing dunes")[0] == "d"
    assert small.manifest.papers == 4


def _add_dunes(folder: Path) -> None:
    with PaperIndex(folder, Embedder()) as index:
        index.add([paper("d", title="Dunes", abstract="Dunes move. They sing.")])


def test_two_first_builds_at_once_make_one_index(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    builders = [context.Process(target=_create, args=(tmp_path / "index",)) for _ in range(2)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join(180)
    assert [builder.exitcode for builder in builders] == [0, 0]


def _create(folder: Path) -> None:
    with PaperIndex.create(folder, three(), Embedder()) as index:
        assert index.count() == 3
        assert index.status().problems == ()


def test_a_second_writer_is_told(small: PaperIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vectorstore.index.writer_lock", lambda folder, wait=0.1: writer_lock(folder, wait=0.1))
    with writer_lock(small.folder), pytest.raises(IndexBusy, match="another process is writing"):
        small.add([paper("d")])


def test_an_index_of_another_model_is_refused(small: PaperIndex) -> None:
    small.close()
    with pytest.raises(IndexMismatch) as caught:
        PaperIndex(small.folder, Embedder("other/model"))
    assert str(caught.value) == (
        "the index was built with embedding model 'all-MiniLM-L6-v2', the setting is 'other/model'; run qa-bot rebuild, or set QA_BOT_EMBEDDING_MODEL=all-MiniLM-L6-v2"
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", 99, "has index format 99, this program reads 1; run: qa-bot rebuild"),
        ("text_version", 0, "the index has text version 0, this program has 1; run: qa-bot rebuild"),
        ("weights_sha256", "0" * 64, "has changed since the index was built"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(small: PaperIndex, embedder: Embedder, field: str, value: object, message: str) -> None:
    small.close()
    file = small.folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {field: value}))
    with pytest.raises(IndexMismatch, match=message.replace(".", r"\.")):
        PaperIndex(small.folder, embedder).search("x")
    with PaperIndex.rebuild(small.folder, embedder) as rebuilt:
        assert best(rebuilt, "dance")[0] == "c"


def test_what_is_no_index_is_named(tmp_path: Path, embedder: Embedder) -> None:
    with pytest.raises(IndexMissing, match="there is no index in"):
        PaperIndex(tmp_path / "nowhere", embedder)
    (tmp_path / "notes.txt").write_text("mine")
    for attempt in (lambda: PaperIndex(tmp_path, embedder), lambda: PaperIndex.create(tmp_path, three(), embedder)):
        with pytest.raises(IndexDamaged, match="is not an index"):
            attempt()
    assert [entry.name for entry in tmp_path.iterdir() if not entry.name.endswith(".lock")] == ["notes.txt"]


@pytest.mark.parametrize(
    ("broken", "content", "mended"),
    [
        ("manifest.json", b"{", True),
        ("manifest.json", None, True),
        ("store-1/catalogue.sqlite", b"not a database, but long enough to look like one" * 50, False),
        ("store-1/catalogue.sqlite", None, False),
        ("store-1/chroma/chroma.sqlite3", None, True),
    ],
)
def test_broken_files_are_one_line_and_rebuilt_from_the_catalogue(
    small: PaperIndex, embedder: Embedder, broken: str, content: bytes | None, mended: bool
) -> None:
    small.close()
    file = small.folder / broken
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(IndexDamaged) as caught:
        PaperIndex(small.folder, embedder)
    assert "\n" not in str(caught.value)
    assert ("run: qa-bot rebuild" in str(caught.value)) is mended
    if mended:
        with PaperIndex.rebuild(small.folder, embedder) as rebuilt:
            assert (rebuilt.count(), rebuilt.status().problems) == (3, ())


def test_lost_vectors_are_noticed_at_open(small: PaperIndex, embedder: Embedder) -> None:
    small._vectors.remove(["a#0"])
    assert small.status().problems == ("1 of 7 passages have no vector; run: qa-bot rebuild",)
    small.close()
    with pytest.raises(IndexDamaged, match="the catalogue expects 7 passages, the vectors are 6; run: qa-bot rebuild"):
        PaperIndex(small.folder, embedder)


def test_a_foreign_collection_is_refused(small: PaperIndex, embedder: Embedder) -> None:
    import chromadb
    from chromadb.config import Settings

    small.close()
    with chromadb.PersistentClient(str(small.folder / "store-1" / "chroma"), settings=Settings(anonymized_telemetry=False)) as client:
        client.delete_collection("passages")
        client.create_collection("passages", embedding_function=None, configuration={"hnsw": {"space": "l2"}})
    with pytest.raises(IndexDamaged, match="was not made by this program"):
        PaperIndex(small.folder, embedder)


def test_an_interrupted_first_build_is_made_again(small: PaperIndex, embedder: Embedder) -> None:
    small.close()
    (small.folder / "manifest.json").unlink()
    (small.folder / "store-1").rename(small.folder / "new-1")
    with pytest.raises(IndexMissing, match="there is no index in"):
        PaperIndex(small.folder, embedder)
    with PaperIndex.create(small.folder, three(), embedder) as again:
        assert (again.count(), best(again, "dance")[0]) == (3, "c")
    assert sorted(entry.name for entry in small.folder.iterdir()) == ["manifest.json", "store-2", "writer.lock"]


def test_a_manifest_behind_its_catalogue_is_brought_up_to_date(small: PaperIndex, embedder: Embedder) -> None:
    small.close()
    file = small.folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"papers": 0, "passages": 0}))
    with PaperIndex(small.folder, embedder) as again:
        assert best(again, "dance")[0] == "c"
        assert (again.repair(), again.manifest.papers, again.repair()) == (True, 3, False)


def test_what_lies_beside_or_at_the_place_of_an_index_is_left_alone(tmp_path: Path, embedder: Embedder) -> None:
    for name in ("place", "place.old", "place.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").write_text("keep")
    file = tmp_path / "papers.jsonl"
    file.write_text("{}")
    for place, kind in [(tmp_path / "place", "a folder of other files"), (file, "a file")]:
        with pytest.raises(IndexDamaged, match=f"is not an index but {kind}"):
            PaperIndex.create(place, three(), embedder)
        with pytest.raises(IndexDamaged, match=f"is not an index but {kind}"):
            PaperIndex.rebuild(place, embedder)
    assert sorted(entry.relative_to(tmp_path).as_posix() for entry in tmp_path.rglob("*")) == [
        *("papers.jsonl", "place", "place.new", "place.new/mine.txt", "place.old", "place.old/mine.txt", "place/mine.txt")
    ]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, embedder: Embedder) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IndexFault, match="can't be written"):
        PaperIndex.create(tmp_path / "file" / "index", three(), embedder)


def test_searches_go_on_while_papers_come_and_go(small: PaperIndex) -> None:
    stop, failures, done = threading.Event(), [], []

    def search() -> None:
        while not stop.is_set():
            try:
                done.append(best(small, "insects dance")[0])
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(4):
        small.add([paper(f"x{turn}", title=f"Tide {turn}"), paper("a", abstract=f"Pebbles roll. Turn {turn}.")])
        small.remove([f"x{turn}"])
    writer = multiprocessing.get_context("spawn").Process(target=_add_dunes, args=(small.folder,))
    writer.start()
    writer.join(120)
    stop.set()
    for thread in threads:
        thread.join()
    assert (failures, set(done)) == ([], {"c"})


def test_rebuilding_under_an_open_index_is_noticed(small: PaperIndex, embedder: Embedder) -> None:
    PaperIndex.rebuild(small.folder, embedder).close()
    assert best(small, "dance")[0] == "c"


def test_threads_share_an_index(small: PaperIndex) -> None:
    questions = ["dance", "spring", "pebbles beach", "How do insects communicate?"] * 4
    serial = [best(small, question) for question in questions]
    found: dict[int, list[str]] = {}
    threads = [threading.Thread(target=lambda i=i, q=q: found.__setitem__(i, best(small, q))) for i, q in enumerate(questions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(questions))] == serial


def test_an_index_of_no_papers_finds_nothing(tmp_path: Path, embedder: Embedder) -> None:
    with PaperIndex.create(tmp_path / "index", [], embedder) as empty:
        found = empty.search("anything")
        assert (found.hits, found.papers, empty.count(), empty.status().problems) == ((), 0, 0, ())
