from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import paper, record, write_jsonl

from vectorstore import SourceError, load_papers
from vectorstore.papers import RecordError, paper_from_record


def test_a_record_becomes_a_paper_with_all_fields() -> None:
    assert paper().to_dict() == record()


def test_passages_are_slices_of_the_cleaned_abstract() -> None:
    found = paper(abstract=r"We gain $2\times$. It costs \$5.")
    assert found.abstract == "We gain 2×. It costs $5."
    assert [(p.id, p.start, p.end, p.text) for p in found.passages] == [("p1#0", 0, 11, "We gain 2×."), ("p1#1", 12, 24, "It costs $5.")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"year": "2021"}, {"year": 2021}),
        ({"year": 2021.0}, {"year": 2021}),
        ({"year": " 2021.0 "}, {"year": 2021}),
        ({"year": ""}, {"year": None}),
        ({"year": float("nan")}, {"year": None}),
        ({"authors": []}, {"authors": []}),
        ({"authors": "Ada Pebble, Bo Shell and Cy Sand"}, {"authors": ["Ada Pebble", "Bo Shell", "Cy Sand"]}),
        ({"authors": "Pebble, Ada; Shell, Bo"}, {"authors": ["Pebble, Ada", "Shell, Bo"]}),
        ({"authors": [{"fullname": "Ada Pebble"}, {"name": "Bo Shell"}]}, {"authors": ["Ada Pebble", "Bo Shell"]}),
        ({"id": 7}, {"id": "7"}),
        ({"url": "javascript:alert(1)"}, {"url": None}),
        ({"venue": "  "}, {"venue": None}),
        ({"extra": {"nested": 1}}, {}),
    ],
)
def test_odd_fields_are_made_regular(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert paper(**fields).to_dict() == record() | expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([1], "expected an object with a title and an abstract, got [1]"),
        (record(title=None), "title is missing"),
        (record(title=5), "title must be text, got 5"),
        (record(title="  "), "title is empty"),
        (record(abstract=None), "abstract is missing"),
        (record(abstract=""), "abstract is empty"),
        (record(abstract="No abstract available."), "abstract is missing (it reads 'No abstract available.')"),
        (record(abstract="N/A"), "abstract is missing (it reads 'N/A')"),
        (record(abstract=["a"]), "abstract must be text, got ['a']"),
        (record(year=20260), "year must be a four-digit number, got 20260"),
        (record(year=True), "year must be a four-digit number, got True"),
        (record(year=2021.5), "year must be a four-digit number, got 2021.5"),
        (record(year=float("inf")), "year must be a four-digit number, got inf"),
        (record(authors={"a": 1}), "authors must be a list of names, got {'a': 1}"),
        (record(authors=[3]), "authors must be names, got 3 among them"),
        (record(venue=["ICML"]), "venue must be text, got ['ICML']"),
        (record(id=1.5), "id must be text, got 1.5"),
    ],
)
def test_what_is_no_paper_is_named(value: object, reason: str) -> None:
    with pytest.raises(RecordError) as caught:
        paper_from_record(value)
    assert str(caught.value) == reason


def test_a_made_id_depends_on_more_than_the_title() -> None:
    one, two = paper(id=None, abstract="We count."), paper(id=None, abstract="We weigh.")
    again = paper(id=None, abstract="We count.")
    assert one.id == again.id != two.id


def test_content_hash_changes_with_every_stored_field() -> None:
    changes = [{}, {"title": "T"}, {"abstract": "A."}, {"authors": ["X Y"]}, {"year": 1999}, {"venue": "V"}, {"topic": "T"}, {"url": "https://x.y"}]
    assert len({paper(**change).content_hash for change in changes}) == len(changes)


def test_good_records_are_kept_and_bad_ones_named_by_line(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "mixed.jsonl", [record("a"), "", "{broken", record("b", title=None), record("c")])
    loaded = load_papers(file)
    assert [p.id for p in loaded.papers] == ["a", "c"]
    assert [str(r) for r in loaded.rejected] == [
        f"{file}:3: is not JSON (Expecting property name enclosed in double quotes at column 2)",
        f"{file}:4: title is missing",
    ]


def test_repeats_are_skipped_and_conflicts_reported(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "twice.jsonl", [record("a"), record("a"), record("a", title="Other")])
    loaded = load_papers(file)
    assert ([p.title for p in loaded.papers], loaded.duplicates) == (["Counting Pebbles"], 1)
    assert [str(r) for r in loaded.rejected] == [f"{file}:3: id 'a' was already used at {file}:1 for other content; the first is kept"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_with_a_mark_are_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "papers.jsonl"
    file.write_bytes((json.dumps(record(title="Étude"), ensure_ascii=False) + "\r\n").encode(encoding))
    assert [p.title for p in load_papers(file).papers] == ["Étude"]


def test_gzip_and_arrays_are_read(tmp_path: Path) -> None:
    packed, array = tmp_path / "p.jsonl.gz", tmp_path / "p.json"
    packed.write_bytes(gzip.compress(json.dumps(record("a")).encode()))
    array.write_text(json.dumps([record("a"), record("b"), 3]), "utf-8")
    assert [p.id for p in load_papers(packed).papers] == ["a"]
    loaded = load_papers(array)
    assert ([p.id for p in loaded.papers], [str(r) for r in loaded.rejected]) == (
        ["a", "b"],
        [f"{array}: item 3: expected an object with a title and an abstract, got 3"],
    )


@pytest.mark.parametrize(
    ("content", "ids", "rejected"),
    [
        ([record("a"), record("b")], ["a", "b"], []),
        ({"papers": [record("a"), record("b")]}, ["a", "b"], []),
        (record("a"), ["a"], []),
    ],
)
def test_indented_documents_are_read_whole(tmp_path: Path, content: object, ids: list[str], rejected: list[str]) -> None:
    file = tmp_path / "papers.json"
    file.write_text(json.dumps(content, indent=1), "utf-8")
    loaded = load_papers(file)
    assert ([p.id for p in loaded.papers], list(loaded.rejected)) == (ids, rejected)


def test_a_torn_array_keeps_its_whole_records(tmp_path: Path) -> None:
    file = tmp_path / "torn.json"
    file.write_text(json.dumps([record("a"), record("b"), record("c")])[:-40], "utf-8")
    loaded = load_papers(file)
    assert [p.id for p in loaded.papers] == ["a", "b"]
    assert [str(r).partition("(")[0] for r in loaded.rejected] == [f"{file}: item 3: is not JSON "]


def test_an_array_among_lines_costs_only_itself(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "p.jsonl", ["[1, 2]", record("a"), record("b")])
    loaded = load_papers(file)
    assert ([p.id for p in loaded.papers], [r.where for r in loaded.rejected]) == (["a", "b"], [f"{file}:1"])


def test_lines_may_end_in_carriage_returns_alone(tmp_path: Path) -> None:
    file = tmp_path / "mac.jsonl"
    file.write_text(json.dumps(record("a")) + "\r" + json.dumps(record("b")), "utf-8", newline="")
    assert [p.id for p in load_papers(file).papers] == ["a", "b"]


@pytest.mark.parametrize("paper_id", ["<i>", "a$b$c", "C:\\temp", "**x**", "论文/1"])
def test_ids_are_kept_as_they_are(paper_id: str) -> None:
    assert paper(paper_id).id == paper_id


def test_a_line_that_is_not_utf8_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "latin.jsonl"
    file.write_bytes(b'{"id": "x", "title": "caf\xe9", "abstract": "A."}\n' + json.dumps(record("b")).encode())
    loaded = load_papers(file)
    assert [p.id for p in loaded.papers] == ["b"]
    assert [str(r) for r in loaded.rejected] == [f"{file}:1: is not UTF-8 text (byte 0xe9 at position 25)"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty; expected JSON Lines, one paper a line"),
        (b" \n\n", "is empty; expected JSON Lines, one paper a line"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "is a binary file; expected JSON Lines text, one paper a line"),
        (b"\x1f\x8b\x08broken", "damaged gzip file"),
        (b"[]", "no records; expected JSON Lines, one paper a line with id, title and abstract"),
    ],
)
def test_unusable_files_are_one_clear_line(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        load_papers(file)
    assert str(caught.value).startswith(f"{file}: {reason}")
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    for source, reason in [(tmp_path / "none.jsonl", "no such file"), (tmp_path, "is a folder; give a JSON Lines file")]:
        with pytest.raises(SourceError, match=reason):
            load_papers(source)


def test_the_bundled_corpus_is_whole(bundled: tuple[Any, ...]) -> None:
    assert (len(bundled), len({p.id for p in bundled}), {p.venue for p in bundled}, {p.year for p in bundled}) == (38, 38, {"ICML 2026"}, {2026})
    assert all(p.authors and p.url and p.passages for p in bundled)
