"""The commands ``eval``, ``questions`` and ``fit``, run in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, write_jsonl

from qa_bot.bot import PaperBot

ASKED: list[dict[str, Any]] = [
    {"id": "a", "question": "What is PersistBench?", "type": "fact", "papers": ["Z7Rhzk13NT"]},
    {"id": "b", "question": "Who won the 1998 world cup?", "type": "unanswerable", "papers": []},
    {"id": "c", "question": "How does Spherical Steering move activations?", "type": "method", "papers": ["9PPeJsVLdB"], "key_facts": [["no such words"]]},
]
QUICK = ("--baselines", "none", "--suites", "none")


@pytest.fixture
def asked(tmp_path: Path, folder: Path) -> str:
    """A file of three questions, answered right, right and wrong."""
    return str(write_jsonl(tmp_path / "q.jsonl", ASKED))


def test_eval_prints_tables_and_writes_both_reports(run: Run, asked: str, tmp_path: Path) -> None:
    code, out, _ = run("eval", asked, "--suites", "paraphrase", "--json", str(tmp_path / "new" / "out.json"), "--html", str(tmp_path / "out.html"))
    assert (code, "latency p50" in out, "by type" in out, "stress suites" in out) == (0, True, True, True)
    header = next(line for line in out.splitlines() if "extractive" in line and "keyword" in line)
    assert "dense" in header
    assert "langchain" in header
    report = json.loads((tmp_path / "new" / "out.json").read_text())
    assert (report["n"], set(report["baselines"]), report["metrics"]["hit@1"]["value"]) == (3, {"keyword", "dense", "langchain"}, 1.0)
    assert "What is PersistBench?" in (tmp_path / "out.html").read_text()


def test_eval_prints_json_alone_on_request(run: Run, asked: str) -> None:
    code, out, _ = run("eval", asked, *QUICK, "--json", "-")
    assert (code, json.loads(out)["set"]["name"]) == (0, "q.jsonl")


def test_types_and_limit_choose_questions(run: Run, asked: str) -> None:
    def ids(*options: str) -> list[str]:
        return [entry["id"] for entry in json.loads(run("eval", asked, *QUICK, "--json", "-", *options)[1])["questions"]]

    assert ids("--types", "fact, method") == ["a", "c"]
    assert ids("--limit", "2") == ["a", "b"]
    assert ids("--limit", "9") == ["a", "b", "c"]
    code, _, err = run("eval", asked, "--types", "facts")
    assert (code, err) == (1, "qa-bot: --types facts: q.jsonl has no such questions; its types are fact, method, unanswerable\n")


def test_eval_fails_below_a_limit(run: Run, asked: str) -> None:
    code, _, err = run("eval", asked, *QUICK, "--fail-under", "hit@1=1", "--fail-under", "key_fact_recall=0.5", "--fail-under", "single-paper.mrr=1")
    assert code == 1
    assert [line for line in err.splitlines() if line.startswith("qa-bot")] == ["qa-bot: below the limit: key_fact_recall is 0.0000, the limit is 0.5"]
    assert run("eval", asked, *QUICK, "--fail-under", "hit@1=1")[0] == 0


def test_eval_fails_where_it_is_worse_than_a_stored_run(run: Run, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = str(tmp_path / "baseline.json")
    assert run("eval", asked, *QUICK, "--baseline", stored, "--update-baseline")[0] == 0
    assert "text" not in json.loads(Path(stored).read_text())["questions"][0]
    assert run("eval", asked, *QUICK, "--baseline", stored)[0] == 0
    monkeypatch.setenv("QA_BOT_MIN_CONFIDENCE", "1")  # the bot now refuses everything
    code, _, err = run("eval", asked, *QUICK, "--baseline", stored)
    assert (code, f"qa-bot: worse than {stored}: accuracy was 0.667, is 0.333" in err) == (1, False)  # one question of three may flip
    assert f"qa-bot: worse than {stored}: citation_recall was 1.000, is 0.000" in err
    code, _, err = run("eval", asked, *QUICK, "--baseline", stored, "--limit", "1")
    assert (code, "the baseline is of another question set or selection" in err) == (1, True)


def test_eval_compares_with_an_earlier_report(run: Run, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = str(tmp_path / "before.json")
    run("eval", asked, *QUICK, "--json", before)
    code, out, _ = run("eval", asked, *QUICK, "--compare", before)
    assert (code, "no question flipped" in out) == (0, True)
    monkeypatch.setenv("QA_BOT_MIN_CONFIDENCE", "1")
    after = tmp_path / "after.json"
    code, out, _ = run("eval", asked, *QUICK, "--compare", before, "--json", str(after))
    assert (code, "a: right → refused: What is PersistBench?" in out) == (0, True)
    assert json.loads(after.read_text())["comparison"]["metrics"]["needless_refusals"]["difference"] == 1.0


def test_an_engine_that_fails_throughout_fails_the_command(run: Run, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("no server")

    monkeypatch.setattr(PaperBot, "ask", fail)
    code, out, err = run("eval", asked, *QUICK)
    assert (code, "failed: c: ConnectionError: no server" in out) == (1, True)
    assert err.splitlines()[-1] == "qa-bot: the engine failed on all 3 questions, first with ConnectionError: no server"


def test_an_interrupted_eval_says_how_to_go_on(run: Run, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "run.jsonl"
    real, calls = PaperBot.ask, []

    def stop(self: PaperBot, question: str, **given: Any) -> Any:
        calls.append(question)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(self, question, **given)

    monkeypatch.setattr(PaperBot, "ask", stop)
    code, _, err = run("eval", asked, *QUICK, "--resume", str(journal))
    assert (code, err.splitlines()[-1]) == (130, f"qa-bot: interrupted; the same command goes on from {journal}")
    assert run("eval", asked, *QUICK, "--resume", str(journal))[0] == 0
    assert calls == [ASKED[0]["question"], ASKED[1]["question"], ASKED[1]["question"], ASKED[2]["question"]]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("none.jsonl",), 1, "none.jsonl: can't be read (No such file or directory)"),
        (("seeds-dev", "--json", "/proc/none/out.json"), 1, "/proc/none/out.json: can't be written (No such file or directory); name another place"),
        (("seeds-dev", "--html", "/"), 1, "/: can't be written (is a folder); name another place"),
        (("seeds-dev", "--compare", "none.json"), 1, "none.json: can't be read (No such file or directory)"),
        (("seeds-dev", "--update-baseline"), 1, "--update-baseline needs --baseline FILE, the file to write"),
        (("seeds-dev", "--limit", "1", "--suites", "stress"), 1, "'stress' is no stress suite; there are hostile, "),
        (("seeds-dev", "--limit", "1", "--suites", "none", "--baselines", "bm26"), 1, "'bm26' is no baseline; there are keyword, dense, langchain"),
        (("seeds-dev", "--limit", "1", *QUICK, "--fail-under", "hits=1"), 1, "'hits=1': the report has no hits; there are hit@1, "),
    ],
)
def test_wrong_use_of_eval_is_one_line(run: Run, folder: Path, arguments: tuple[str, ...], code: int, line: str) -> None:
    found, _, err = run("eval", *arguments)
    last = err.splitlines()[-1]
    assert (found, last[: len(line) + 8]) == (code, f"qa-bot: {line}")


def test_a_set_of_another_index_is_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    foreign = write_jsonl(tmp_path / "foreign.jsonl", [{**ASKED[0], "papers": ["gone"]}])
    code, _, err = run("eval", str(foreign), *QUICK)
    assert (code, err) == (1, f"qa-bot: none of the 1 gold papers is in the index {folder}; the set belongs to another index\n")


def test_missing_gold_papers_are_told_and_scored(run: Run, folder: Path, tmp_path: Path) -> None:
    some = write_jsonl(tmp_path / "some.jsonl", [ASKED[0], {**ASKED[2], "papers": ["gone"]}])
    code, out, err = run("eval", str(some), *QUICK, "--json", "-")
    assert (code, "1 of 2 gold papers are not in the index, 'gone' first" in err) == (0, True)
    assert json.loads(out)["metrics"]["hit@1"]["value"] == 0.5


def test_questions_check(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("questions", "check", "seeds-dev")[:2] == (0, "150 questions, 0 problems\n")
    bad = write_jsonl(tmp_path / "bad.jsonl", [ASKED[0], {**ASKED[0], "id": "z", "question": "And?", "papers": ["gone"]}])
    assert run("questions", "check", str(bad)) == (1, "2 questions, 1 problems\n", "qa-bot: z: papers: 'gone' is not in the index\n")


def test_questions_from_feedback(run: Run, tmp_path: Path) -> None:
    vote = {"time": "2026-11-30T10:00:00+00:00", "vote": "up", "question": "What is PersistBench?", "text": "A benchmark.", "cited": ["Z7Rhzk13NT"]}
    file = str(write_jsonl(tmp_path / "f.jsonl", [vote]))
    code, out, err = run("questions", "from-feedback", file)
    assert (code, json.loads(out)["papers"], err) == (0, ["Z7Rhzk13NT"], "1 drafts; settle each todo, then run: qa-bot questions check FILE\n")
    code, out, _ = run("questions", "from-feedback", file, "--out", str(tmp_path / "drafts.jsonl"))
    assert (code, out) == (0, "")
    assert json.loads((tmp_path / "drafts.jsonl").read_text())["question"] == "What is PersistBench?"


def test_fit_writes_parameters_that_a_setting_uses(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("fit", "seeds-dev", f"{folder}=seeds-dev-extra", "--folds", "5", "--out", str(tmp_path / "mine"))
    assert (code, f"QA_BOT_LEARNED={tmp_path / 'mine'}" in out) == (0, True)
    fitted = json.loads((tmp_path / "mine" / "confidence.json").read_text())
    sets = [(entry["name"], entry["papers"]) for entry in fitted["provenance"]["question_sets"]]
    assert sets == [("seeds-dev.jsonl", 38), ("seeds-dev-extra.jsonl", 38)]
    monkeypatch.setenv("QA_BOT_LEARNED", str(tmp_path / "mine"))
    with PaperBot.open(folder).index as index:
        assert index.count() == 38
    assert PaperBot.open(folder).min_confidence == fitted["threshold"]


def test_parameters_that_are_missing_or_damaged_are_named(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "nowhere"
    monkeypatch.setenv("QA_BOT_LEARNED", str(mine))
    assert run("ask", "What is PersistBench?")[2] == f"qa-bot: QA_BOT_LEARNED={mine}: there is no such folder; make it with: qa-bot fit --out {mine}\n"
    mine.mkdir()
    (mine / "confidence.json").write_text('{"intercept": 1}')
    code, _, err = run("ask", "What is PersistBench?")
    assert (code, err) == (
        2,
        f"qa-bot: QA_BOT_LEARNED={mine}: confidence.json can't be used (KeyError: 'weights'); make it anew with: qa-bot fit --out {mine}\n",
    )


def test_too_few_questions_to_fit_are_refused(run: Run, asked: str, tmp_path: Path) -> None:
    code, _, err = run("fit", asked, "--out", str(tmp_path / "mine"))
    assert (code, "2 answerable and 1 unanswerable questions are too few for 10 folds" in err) == (1, True)
    assert not (tmp_path / "mine" / "confidence.json").exists()
