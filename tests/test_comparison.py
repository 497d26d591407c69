from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qa_bot.errors import EvaluationError
from qa_bot.evaluate.comparison import brief, compare, read_report, regressions, shortfalls


def entry(name: str, hit: float, outcome: str = "right", **scores: float) -> dict[str, Any]:
    return {"id": name, "type": "fact", "question": f"{name}?", "outcome": outcome, "scores": {"hit@1": hit, **scores}}


def figure(value: float, n: int = 10) -> dict[str, float]:
    return {"value": value, "n": n, "ci_low": value, "ci_high": value}


def report(**changes: Any) -> dict[str, Any]:
    base = {
        "version": 2,
        "n": 10,
        "engine": "extractive",
        "seed": 0,
        "date": "2026-11-30",
        "set": {"name": "s.jsonl", "sha256": "abc", "n": 10},
        "index": {"papers": 38},
        "metrics": {"hit@1": figure(0.9, 1000), "aurc": figure(0.2, 1000), "answer_words": figure(90)},
        "by_type": {"fact": {"hit@1": figure(0.8)}},
        "slices": {"hostile": {"resisted": figure(0.5, 4)}},
        "latency_ms": {"p50": 20.0},
        "suites": [{"suite": "hostile", "id": "h", "passed": True, "text": "long"}],
        "questions": [entry("a", 1.0), entry("b", 1.0), entry("c", 0.0, "wrong")],
    }
    return base | changes


def test_differences_are_paired_by_question() -> None:
    other = report(questions=[entry("c", 1.0), entry("a", 1.0), entry("x", 0.0), entry("b", 0.0, "refused")], engine="keyword")
    found = compare(report(), other)
    # a 1-1, b 1-0, c 0-1: mean 0; of 27 resamples one is three times b and one three times c, 3.7 % each, so the ends are 1 and -1
    assert found["metrics"]["hit@1"] == {
        **{"ours": 0.6667, "other": 0.6667, "difference": 0.0, "n": 3},
        **{"ci_low": -1.0, "ci_high": 1.0},
    }
    assert found["flipped"] == [
        {"id": "b", "question": "b?", "ours": "right", "other": "refused"},
        {"id": "c", "question": "c?", "ours": "wrong", "other": "right"},
    ]
    assert (found["n"], found["other"]) == (3, {"engine": "keyword", "date": "2026-11-30", "set": "s.jsonl"})


def test_a_clear_difference_leaves_out_zero() -> None:
    ours = report(questions=[entry(str(n), 1.0) for n in range(20)])
    other = report(questions=[entry(str(n), float(n % 2)) for n in range(20)])
    row = compare(ours, other)["metrics"]["hit@1"]
    assert (row["difference"], row["ci_low"] > 0) == (0.5, True)


def test_questions_that_were_reworded_are_no_pair() -> None:
    changed = {**entry("a", 0.0, "wrong"), "question": "something else?"}
    assert compare(report(), report(questions=[changed, entry("b", 1.0)]))["n"] == 1
    with pytest.raises(EvaluationError, match=r"no question in common \(s\.jsonl and s\.jsonl\)"):
        compare(report(), report(questions=[changed]))


def test_questions_whose_gold_changed_are_no_pair() -> None:
    ours, other = ({**entry("a", 1.0), "gold": [{"paper_id": gold}], "history": []} for gold in ("x", "y"))
    found = compare(report(questions=[ours, entry("b", 1.0)]), report(questions=[other, entry("b", 1.0)]))
    assert (found["n"], found["left_out"]) == (1, 1)


def test_conditional_measures_differ_by_their_own_means() -> None:
    # precision of refusals: ours refused a and b, right once; theirs a, c and d, right twice: 1/2 against 2/3
    def run(values: dict[str, float]) -> dict[str, Any]:
        rows = [entry(name, 1.0) for name in "abcd"]
        return report(questions=[{**row, "scores": {"refusal_precision": values[row["id"]]} if row["id"] in values else {"hit@1": 1.0}} for row in rows])

    row = compare(run({"a": 1.0, "b": 0.0}), run({"a": 1.0, "c": 1.0, "d": 0.0}))["metrics"]["refusal_precision"]
    assert (row["ours"], row["other"], row["difference"], row["n"]) == (0.5, 0.6667, -0.1667, 4)


def test_errors_are_compared_where_only_one_run_has_them() -> None:
    row = compare(report(questions=[entry("a", 0.0, "error", errors=1.0), entry("b", 1.0)]), report())["metrics"]["errors"]
    assert (row["ours"], row["other"], row["n"]) == (0.5, 0.0, 2)


def test_metrics_that_apply_to_other_questions_are_left_out() -> None:
    assert set(compare(report(), report(questions=[entry("a", 1.0, mrr=0.5)]))["metrics"]) == {"hit@1"}


def test_regressions_name_metric_and_both_values() -> None:
    worse = report(metrics={"hit@1": figure(0.88, 1000), "aurc": figure(0.23, 1000), "answer_words": figure(500)})
    assert list(regressions(worse, report())) == ["hit@1 was 0.900, is 0.880", "aurc was 0.200, is 0.230"]
    assert list(regressions(worse, report(), tolerance=0.05)) == []
    assert list(regressions(report(), worse)) == []


def test_one_question_may_flip_two_may_not() -> None:
    one, two = (report(slices={"hostile": {"resisted": figure(value, 4)}}) for value in (0.25, 0.0))
    assert list(regressions(one, report())) == []
    assert list(regressions(two, report())) == ["hostile.resisted was 0.500, is 0.000"]


def test_a_metric_that_disappeared_is_a_regression() -> None:
    assert list(regressions(report(metrics={}), report())) == ["hit@1 was 0.900, is missing", "aurc was 0.200, is missing"]
    assert list(regressions(report(slices={}), report())) == ["hostile.resisted was 0.500, is missing"]


def test_a_baseline_of_other_questions_is_refused() -> None:
    for other in ({"set": {"name": "t.jsonl", "sha256": "x"}}, {"questions": [entry("a", 1.0), entry("b", 1.0), entry("z", 0.0)]}):
        with pytest.raises(EvaluationError, match="of another question set or selection"):
            list(regressions(report(), report(**other)))


@pytest.mark.parametrize(
    ("limits", "lines"),
    [
        (["hit@1=0.9", "aurc=0.2", "fact.hit@1=0.8", "hostile.resisted=0.5"], []),
        (["hit@1=0.91"], ["hit@1 is 0.9000, the limit is 0.91"]),
        (["aurc=0.19"], ["aurc is 0.2000, the limit is 0.19"]),
        (["fact.hit@1=1", "hostile.resisted=1"], ["fact.hit@1 is 0.8000, the limit is 1", "hostile.resisted is 0.5000, the limit is 1"]),
    ],
)
def test_limits(limits: list[str], lines: list[str]) -> None:
    assert list(shortfalls(report(), limits)) == lines


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("hit@1", "'hit@1' is no limit"),
        ("hit@1=high", "'hit@1=high' is no limit"),
        ("hit@1=nan", "'hit@1=nan' is no limit"),
        ("hits=1", "the report has no hits; there are hit@1, aurc"),
        ("easy.hit@1=1", "the report has no easy.hit@1; slices are fact, hostile"),
    ],
)
def test_impossible_limits_are_named(limit: str, reason: str) -> None:
    with pytest.raises(EvaluationError, match=reason):
        list(shortfalls(report(), [limit]))


def test_a_brief_report_is_enough_to_hold_a_run_against(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(json.dumps(brief(report())))
    stored = read_report(tmp_path / "b.json")
    assert "latency_ms" not in stored
    assert "date" not in stored
    assert list(regressions(report(), stored)) == []
    assert compare(report(), stored)["flipped"] == []
    assert stored["suites"] == [{"suite": "hostile", "id": "h", "passed": True}]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is no report of qa-bot eval"),
        ("[]", "is no report of qa-bot eval"),
        ('{"version": 2, "questions": [{}], "metrics": {}}', "is no report of qa-bot eval"),
        (json.dumps(report(questions=[])), "is no report of qa-bot eval"),
        (json.dumps(report(slices=None)), "is no report of qa-bot eval"),
        (json.dumps(report(metrics={"hit@1": 0.9})), "is no report of qa-bot eval"),
        (json.dumps(report(metrics={"hit@1": figure(0.9, 0)})), "is no report of qa-bot eval"),
        ("[" * 100_000, "is no report of qa-bot eval"),
        ('{"version": 1, "questions": [], "metrics": {}}', "is a report of version 1, this program reads 2"),
    ],
)
def test_files_that_are_no_reports_are_named(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(EvaluationError, match=reason):
        read_report(tmp_path / "r.json")
    with pytest.raises(EvaluationError, match="can't be read"):
        read_report(tmp_path / "none.json")
