from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run, record, write_jsonl


def test_help_imports_nothing_heavy() -> None:
    code = "import sys\ntry:\n from qa_bot.cli import main; main(['--help'])\nfinally:\n print(sorted({'torch', 'chromadb', 'gradio', 'langchain_core', 'numpy', 'sentence_transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("ask", "chat", "add", "remove", "list", "status", "rebuild", "eval", "questions", "fit"):
        assert f"  {command} " in done.stdout


def test_ask_prints_answer_and_sources(run: Run, folder: Path) -> None:
    code, out, _ = run("ask", "What median failure rates did PersistBench find?")
    title = "PersistBench: When Should Long-Term Memories Be Forgotten by LLMs?"
    assert code == 0
    assert out.startswith(f"“{title}” [1]: ")
    assert out.rstrip().endswith(f"Sources\n[1] {title} (Sidharth Pulipaka, Oliver Chen, Manas Sharma et al.) https://openreview.net/forum?id=Z7Rhzk13NT")


def test_json_quotes_are_slices_of_the_listed_abstract(run: Run, folder: Path) -> None:
    code, out, _ = run("ask", "How does EPSVec make private text?", "--json")
    answer = json.loads(out)
    source = answer["citations"][0]
    _, listed, _ = run("list", "--id", source["paper_id"], "--json")
    abstract = json.loads(listed)[0]["abstract"]
    assert code == 0
    assert source["quotes"]
    assert [q["text"] for q in source["quotes"]] == [abstract[q["start"] : q["end"]] for q in source["quotes"]]


def test_ask_takes_filters(run: Run, folder: Path) -> None:
    code, out, _ = run("ask", "What is measured?", "--json", "--filter", "author=Han Liu", "-f", "year=2026")
    assert (code, {hit["paper_id"] for hit in json.loads(out)["retrieved"]}) == (0, {"9mA5d705Gd", "ZK0U30zmDY"})


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (
            ("ask", "x", "--filter", "color=red"),
            2,
            "qa-bot: unknown filter field 'color'; the fields are year, venue, topic, author, id, as in --filter year=2026",
        ),
        (("ask", "x" * 50_000), 2, "qa-bot: the question has 50,000 characters, at most 4,000 are searched; shorten it"),
        (("ask", "?!"), 2, "qa-bot: '?!' is no question; Please type a question about the papers."),
        (("remove", "nope"), 1, "qa-bot: not in the index: 'nope'; `qa-bot list` shows the ids"),
        (("list", "--id", "nope"), 1, "qa-bot: not in the index: 'nope'; `qa-bot list` shows the ids"),
        (("eval", "none.jsonl"), 1, "qa-bot: none.jsonl: can't be read (No such file or directory)"),
    ],
)
def test_wrong_use_is_one_line(run: Run, folder: Path, arguments: tuple[str, ...], code: int, line: str) -> None:
    assert run(*arguments)[::2] == (code, line + "\n")


def test_a_blank_question_still_gives_json(run: Run, folder: Path) -> None:
    code, out, _ = run("ask", "  ", "--json")
    assert (code, json.loads(out)["route"]) == (2, "blank")


def test_a_missing_index_is_one_line(run: Run, tmp_path: Path) -> None:
    where = tmp_path / "nowhere"
    assert run("status", "--index", str(where)) == (1, "", f"qa-bot: there is no index in {where}; make one with: qa-bot add FILE\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    code, out, err = run("ask", "x", "--index", str(tmp_path / "notes"))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "is not an index but a folder of other files; set QA_BOT_INDEX" in err


def test_another_model_is_one_line_with_the_remedy(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_BOT_EMBEDDING_MODEL", "other/model")
    code, _, err = run("ask", "x")
    assert (code, err.count("\n")) == (1, 1)
    assert "built with embedding model 'all-MiniLM-L6-v2', the setting is 'other/model'; run qa-bot rebuild" in err


def test_add_counts_keeps_good_records_and_fails_on_bad_ones(run: Run, tmp_path: Path) -> None:
    place = ("--index", str(tmp_path / "index"))
    good = write_jsonl(tmp_path / "good.jsonl", [record("a"), record("b", title="Shells"), record("b", title="Shells")])
    assert run("add", str(good), *place)[:2] == (0, "2 added, 1 duplicates\n")
    mixed = write_jsonl(tmp_path / "mixed.jsonl", [record("a", year=1999), record("b", title="Shells"), record("c"), "{", record("d", abstract=None)])
    code, out, err = run("add", str(mixed), str(tmp_path / "none.jsonl"), *place)
    assert (code, out) == (1, "1 added, 1 changed, 1 unchanged, 2 rejected\n")
    assert [line for line in err.splitlines() if line.startswith("qa-bot:")] == [
        f"qa-bot: {mixed}:4: is not JSON (Expecting property name enclosed in double quotes at column 2)",
        f"qa-bot: {mixed}:5: abstract is missing",
        f"qa-bot: {tmp_path / 'none.jsonl'}: no such file",
    ]
    assert run("list", "--json", *place)[1].count('"id"') == 3
    assert run("remove", "c", *place)[:2] == (0, "1 removed, 2 left\n")


def test_add_of_unusable_files_leaves_no_index(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    code, _, err = run("add", str(empty), "--json", "--index", str(tmp_path / "index"))
    assert (code, err) == (1, f"qa-bot: {empty}: is empty; expected JSON Lines, one paper a line\n")
    assert not (tmp_path / "index").exists()


def test_list_and_status_describe_the_index(run: Run, folder: Path) -> None:
    code, out, err = run("list", "--filter", "topic=Social Aspects->Privacy")
    assert (code, len(out.splitlines()), err) == (0, 3, "3 of 38 papers\n")
    code, out, _ = run("status", "--json")
    status = json.loads(out)
    assert (code, status["papers"], status["problems"], status["model"]) == (0, 38, [], "all-MiniLM-L6-v2")
    code, out, _ = run("status")
    assert (code, "health" in out, "good" in out) == (0, True, True)


def test_rebuild_keeps_the_papers(run: Run, folder: Path) -> None:
    (folder / "manifest.json").unlink()
    assert run("status")[0] == 1
    assert run("rebuild")[:2] == (0, "rebuilt with 38 papers\n")
    assert run("status")[0] == 0


def test_the_first_ask_builds_the_index_and_says_so(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-m", "qa_bot", "ask", "What is PersistBench?"], capture_output=True, text=True, timeout=300, check=True, env=environment, cwd=tmp_path
    )
    assert "PersistBench" in done.stdout
    assert done.stderr.splitlines() == ["Building the index (285 passages) …", "Building the index: done"]
    assert (tmp_path / "data" / "qa-bot" / "index" / "manifest.json").exists()
