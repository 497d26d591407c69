"""Reports side by side: reading them back, paired differences, and the limits that a run must keep."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from qa_bot.errors import EvaluationError
from qa_bot.evaluate import statistics
from qa_bot.evaluate.report import VERSION
from qa_bot.evaluate.scoring import METRICS, NEITHER_IS_BETTER, SMALLER_IS_BETTER

TOLERANCE = 0.01
"""How much worse a metric may get against a stored run; where that is less than one question, one question may flip."""

Reported = Mapping[str, Any]

_PER_QUESTION = ("id", "type", "question", "outcome", "scores")


class _Figure(BaseModel):
    value: float
    n: Annotated[int, Field(ge=1)]


class _Asked(BaseModel):
    id: str
    question: str
    outcome: str
    scores: dict[str, float]


class _Stored(BaseModel):
    version: int
    n: int
    engine: str
    set: dict[str, Any]
    metrics: Annotated[dict[str, _Figure], Field(min_length=1)]
    slices: dict[str, dict[str, _Figure]]
    questions: Annotated[list[_Asked], Field(min_length=1)]


def read_report(file: Path) -> dict[str, Any]:
    """A report that ``qa-bot eval --json`` or ``--update-baseline`` wrote.

    Raises:
        EvaluationError: unreadable, no report, or of another version.
    """
    try:
        report = json.loads(file.read_text("utf-8"))
        version = report["version"]
        if version == VERSION:
            _Stored.model_validate(report)
            return dict(report)
    except OSError as error:
        raise EvaluationError(f"{file}: can't be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EvaluationError(f"{file}: is no report of qa-bot eval; make one with: qa-bot eval --json {file}") from None
    raise EvaluationError(f"{file}: is a report of version {version}, this program reads {VERSION}; make it anew with: qa-bot eval --json {file}")


def brief(report: Reported) -> dict[str, Any]:
    """The report without texts, curves and times: what a later run is held against, fit for a repository."""
    kept = {name: report[name] for name in ("version", "n", "engine", "seed", "set", "index", "metrics", "slices")}
    questions = [{name: entry[name] for name in _PER_QUESTION} for entry in report["questions"]]
    return {**kept, "questions": questions, "suites": [{name: trial[name] for name in ("suite", "id", "passed")} for trial in report["suites"]]}


def compare(ours: Reported, other: Reported) -> dict[str, Any]:
    """Paired differences over the questions that both reports asked in the same words, and the questions whose outcome flipped.

    Questions whose words, history or right papers differ are left out and counted. The values are JSON-ready:
    ``{"other", "n", "left_out", "metrics": {name: {"ours", "other", "difference", "ci_low", "ci_high", "n"}},
    "flipped": [{"id", "question", "ours", "other"}]}``; metrics that are no mean over questions are left out.

    Raises:
        EvaluationError: no question in common.
    """
    then = {entry["id"]: entry for entry in other["questions"]}
    pairs = [(now, then[now["id"]]) for now in ours["questions"] if now["id"] in then and _same(now, then[now["id"]])]
    if not pairs:
        raise EvaluationError(f"the reports have no question in common ({_name(ours)} and {_name(other)})")
    differences = {}
    for metric in METRICS:
        mine, theirs = ([_value(row, metric) for row in rows] for rows in zip(*pairs, strict=True))
        if all(any(not math.isnan(value) for value in values) for values in (mine, theirs)) and (metric != "errors" or any(mine) or any(theirs)):
            found = statistics.paired_difference(mine, theirs, ours.get("seed", 0))
            differences[metric] = {
                "ours": round(_mean(mine), 4),
                "other": round(_mean(theirs), 4),
                "difference": round(found.value, 4),
                "ci_low": round(found.ci_low, 4),
                "ci_high": round(found.ci_high, 4),
                "n": found.n,
            }
    flipped = [
        {"id": now["id"], "question": now["question"], "ours": now["outcome"], "other": was["outcome"]}
        for now, was in pairs
        if now["outcome"] != was["outcome"]
    ]
    return {
        "other": {"engine": other["engine"], "date": other.get("date", ""), "set": _name(other)},
        "n": len(pairs),
        "left_out": len(ours["questions"]) - len(pairs),
        "metrics": differences,
        "flipped": flipped,
    }


def regressions(report: Reported, baseline: Reported, tolerance: float = TOLERANCE) -> Iterator[str]:
    """One line for each metric, over all questions or in a slice, that is worse than in ``baseline`` by more than ``tolerance``.

    A metric or slice that the baseline has and the report lacks is worse too, and so are new errors. Latency and length are not
    held against a run. One question may flip, since processors round differently.

    Raises:
        EvaluationError: the baseline is of another question set.
    """
    ids = [{entry["id"] for entry in run["questions"]} for run in (report, baseline)]
    if report["set"].get("sha256") != baseline["set"].get("sha256") or ids[0] != ids[1]:
        raise EvaluationError(f"the baseline is of another question set or selection ({_name(baseline)}, {baseline['n']} questions); make it anew")
    groups = [("", report["metrics"], baseline["metrics"])]
    groups += [(f"{name}.", report["slices"].get(name, {}), values) for name, values in baseline["slices"].items()]
    for prefix, now, then in groups:
        for metric, was in then.items():
            if metric in NEITHER_IS_BETTER:
                continue
            found = now.get(metric)
            value = found["value"] if found else math.nan
            loss = value - was["value"] if metric in SMALLER_IS_BETTER else was["value"] - value
            # NaN: the metric no longer applies to any question, so nothing shows that it holds
            if not loss <= max(tolerance, 1 / was["n"] + 1e-4):
                yield f"{prefix}{metric} was {was['value']:.3f}, is {'missing' if found is None else f'{value:.3f}'}"


def check_limits(limits: Sequence[str]) -> None:
    """Refuse what can be no limit before anything is asked.

    Raises:
        EvaluationError: not of the form METRIC=NUMBER.
    """
    for limit in limits:
        _parsed(limit)


def shortfalls(report: Reported, limits: Sequence[str]) -> Iterator[str]:
    """One line for each limit, ``METRIC=VALUE`` or ``SLICE.METRIC=VALUE``, that the report doesn't keep.

    A value is the least for metrics of which more is better, and the most for the others.

    Raises:
        EvaluationError: not of that form, or no such slice or metric in the report.
    """
    for limit in limits:
        name, wanted = _parsed(limit)
        cut, _, metric = name.rpartition(".")
        groups = {"": report["metrics"], **report["by_type"], **report["slices"]}
        if cut not in groups or metric not in groups[cut]:
            known = f"slices are {', '.join(group for group in groups if group)}" if cut not in groups else f"there are {', '.join(groups[cut])}"
            raise EvaluationError(f"{limit!r}: the report has no {name}; {known}")
        value = groups[cut][metric]["value"]
        if (value > wanted) if metric in SMALLER_IS_BETTER else (value < wanted):
            yield f"{name} is {value:.4f}, the limit is {wanted:g}"


def _parsed(limit: str) -> tuple[str, float]:
    name, _, text = limit.partition("=")
    try:
        wanted = float(text)
    except ValueError:
        wanted = math.nan
    if math.isnan(wanted):
        raise EvaluationError(f"{limit!r} is no limit; expected METRIC=NUMBER such as hit@1=0.95, or SLICE.METRIC=NUMBER")
    return name, wanted


def _same(now: Reported, was: Reported) -> bool:
    # a stored run lacks history and gold; it is only held against the very same set
    return all(now.get(name) == was.get(name) for name in ("question", "history", "gold") if name in now and name in was)


def _value(entry: Reported, metric: str) -> float:
    return float(entry["scores"].get(metric, 0.0 if metric == "errors" else math.nan))


def _mean(values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there)


def _name(report: Reported) -> str:
    return str((report.get("set") or {}).get("name") or "unnamed questions")
