"""Reports side by side: reading them back, paired differences, and the limits that a run must keep."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from qa_bot.errors import EvaluationError
from qa_bot.evaluate import statistics
from qa_bot.evaluate.report import VERSION
from qa_bot.evaluate.scoring import METRICS, NEITHER_IS_BETTER, SMALLER_IS_BETTER

TOLERANCE = 0.01
"""How much worse a metric may get against a stored run; where that is less than one question, one question may flip."""

Reported = Mapping[str, Any]

_PER_QUESTION = ("id", "type", "question", "outcome", "scores")


def read_report(file: Path) -> dict[str, Any]:
    """A report that ``qa-bot eval --json`` or ``--update-baseline`` wrote.

    Raises:
        EvaluationError: unreadable, no report, or of another version.
    """
    try:
        report = json.loads(file.read_text("utf-8"))
        version = report["version"]
        if version == VERSION and all("id" in entry and "scores" in entry for entry in report["questions"]) and report["metrics"]:
            return dict(report)
    except OSError as error:
        raise EvaluationError(f"{file}: can't be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise EvaluationError(f"{file}: is no report of qa-bot eval; make one with: qa-bot eval --json {file}") from None
    raise EvaluationError(f"{file}: is a report of version {version}, this program reads {VERSION}; make it anew with: qa-bot eval --json {file}")


def brief(report: Reported) -> dict[str, Any]:
    """The report without texts, curves and times: what a later run is held against, fit for a repository."""
    kept = {name: report[name] for name in ("version", "n", "engine", "seed", "set", "index", "metrics", "slices")}
    questions = [{name: entry[name] for name in _PER_QUESTION} for entry in report["questions"]]
    return {**kept, "questions": questions, "suites": [{name: trial[name] for name in ("suite", "id", "passed")} for trial in report["suites"]]}


def compare(ours: Reported, other: Reported) -> dict[str, Any]:
    """Paired differences over the questions that both reports asked in the same words, and the questions whose outcome flipped.

    The values are JSON-ready: ``{"other", "n", "metrics": {name: {"ours", "other", "difference", "ci_low", "ci_high", "n"}},
    "flipped": [{"id", "question", "ours", "other"}]}``; metrics that are no mean over questions are left out.

    Raises:
        EvaluationError: no question in common.
    """
    then = {entry["id"]: entry for entry in other["questions"]}
    pairs = [(now, then[now["id"]]) for now in ours["questions"] if now["id"] in then and then[now["id"]].get("question", now["question"]) == now["question"]]
    if not pairs:
        raise EvaluationError(f"the reports have no question in common ({_name(ours)} and {_name(other)})")
    differences = {}
    for metric in METRICS:
        both = [(now["scores"][metric], was["scores"][metric]) for now, was in pairs if metric in now["scores"] and metric in was["scores"]]
        if both:
            mine, theirs = zip(*both, strict=True)
            found = statistics.paired_difference(mine, theirs, ours.get("seed", 0))
            differences[metric] = {
                "ours": round(sum(mine) / len(mine), 4),
                "other": round(sum(theirs) / len(theirs), 4),
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
        "metrics": differences,
        "flipped": flipped,
    }


def regressions(report: Reported, baseline: Reported, tolerance: float = TOLERANCE) -> Iterator[str]:
    """One line for each metric, over all questions or in a slice, that is worse than in ``baseline`` by more than ``tolerance``.

    Latency and length are not held against a run. One question may flip, since processors round differently.

    Raises:
        EvaluationError: the baseline is of another question set.
    """
    if report["set"].get("sha256") != baseline["set"].get("sha256") or report["n"] != baseline["n"]:
        raise EvaluationError(f"the baseline is of another question set or selection ({_name(baseline)}, {baseline['n']} questions); make it anew")
    groups = [("", report["metrics"], baseline["metrics"])]
    groups += [(f"{name}.", report["slices"][name], values) for name, values in baseline["slices"].items() if name in report["slices"]]
    for prefix, now, then in groups:
        for metric, was in then.items():
            if metric in NEITHER_IS_BETTER:
                continue
            found = now.get(metric)
            value = found["value"] if found else math.nan
            loss = value - was["value"] if metric in SMALLER_IS_BETTER else was["value"] - value
            # NaN: the metric no longer applies to any question, so nothing shows that it holds
            if not loss <= max(tolerance, 1 / was["n"] + 1e-4):
                yield f"{prefix}{metric} was {was['value']:.3f}, is {value:.3f}"


def shortfalls(report: Reported, limits: Sequence[str]) -> Iterator[str]:
    """One line for each limit, ``METRIC=VALUE`` or ``SLICE.METRIC=VALUE``, that the report doesn't keep.

    A value is the least for metrics of which more is better, and the most for the others.

    Raises:
        EvaluationError: not of that form, or no such slice or metric in the report.
    """
    for limit in limits:
        name, equals, text = limit.partition("=")
        try:
            wanted = float(text)
        except ValueError:
            wanted = math.nan
        if not equals or math.isnan(wanted):
            raise EvaluationError(f"{limit!r} is no limit; expected METRIC=NUMBER such as hit@1=0.95, or SLICE.METRIC=NUMBER")
        cut, _, metric = name.rpartition(".")
        groups = {"": report["metrics"], **report["by_type"], **report["slices"]}
        if cut not in groups or metric not in groups[cut]:
            known = f"slices are {', '.join(group for group in groups if group)}" if cut not in groups else f"there are {', '.join(groups[cut])}"
            raise EvaluationError(f"{limit!r}: the report has no {name}; {known}")
        value = groups[cut][metric]["value"]
        if (value > wanted) if metric in SMALLER_IS_BETTER else (value < wanted):
            yield f"{name} is {value:.4f}, the limit is {wanted:g}"


def _name(report: Reported) -> str:
    return str((report.get("set") or {}).get("name") or "unnamed questions")
