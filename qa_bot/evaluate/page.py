"""The evaluation report as one HTML page that needs no network; all texts in it are escaped by the template."""

from __future__ import annotations

import hashlib
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from qa_bot.evaluate import plots
from qa_bot.evaluate.scoring import METRICS, NEITHER_IS_BETTER, SMALLER_IS_BETTER

Json = Mapping[str, Any]
Points = list[tuple[float, float]]

_OUTCOMES = ("right", "wrong", "refused", "error")
_RETRIEVED_SHOWN = 10
# what HTML can't hold, and lone surrogates, which can't be written as UTF-8
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def render(report: Json, comparison: Json | None = None) -> str:
    """The page of a report, complete with styles, script and plots; the same text for the same input.

    Args:
        report: what ``Report.to_dict()`` gives; keys that are missing leave out what they'd show.
        comparison: differences from another report: ``other``, ``metrics`` and ``flipped``.
    """
    engines = [_engine(str(report.get("engine") or "this engine"), report)]
    engines += [_engine(name, part) for name, part in (report.get("baselines") or {}).items()]
    questions = [_question(entry) for entry in report.get("questions") or ()]
    template = _environment().get_template("report.html.j2")
    return template.render(
        engine=engines[0].name,
        set_name=(report.get("set") or {}).get("name") or "questions",
        facts=_facts(report),
        outcomes=_counted(question["outcome"] for question in questions),
        types=sorted({question["type"] for question in questions}),
        summary=_summary(engines),
        plots=_plots(engines),
        slices=_slices(report),
        suites=_suites(report.get("suites") or ()),
        comparison=_comparison(engines[0].name, comparison, questions) if comparison else None,
        errors=[{"id": entry.get("id", ""), "error": entry.get("error", "")} for entry in report.get("errors") or ()],
        questions=questions,
        smaller=SMALLER_IS_BETTER,
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    """A metric: its value and the interval's ends, NaN where there are none, and the number of questions, 0 where it isn't known."""

    value: float
    n: int = 0
    low: float = math.nan
    high: float = math.nan
    digits: int = 3
    sign: str = ""

    def cell(self) -> dict[str, Any]:
        def text(number: float) -> str:
            return "" if math.isnan(number) else f"{number:{self.sign}.{self.digits}f}"

        interval = "" if math.isnan(self.low + self.high) else text(self.low) + (" to " if self.sign else "–") + text(self.high)
        return {"value": text(self.value), "interval": interval, "differs": bool(self.sign) and self.low * self.high > 0}


@dataclass(frozen=True, slots=True)
class _Engine:
    name: str
    metrics: Mapping[str, _Measure]
    latency_ms: Mapping[str, float]
    risk: Points
    recall: Points
    latency: Points


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("qa_bot.evaluate", ""), autoescape=True, undefined=StrictUndefined, finalize=_printable, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["digest"] = _digest
    return environment


def _digest(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _printable(value: object) -> object:
    return _UNPRINTABLE.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.nan


def _measures(found: Json | None) -> dict[str, _Measure]:
    # the first reports had plain numbers where there are entries now
    entries = {name: entry if isinstance(entry, Mapping) else {"value": entry} for name, entry in (found or {}).items()}
    read = {name: _measure(name, entry, "value") for name, entry in entries.items()}
    return {name: measure for name, measure in read.items() if not math.isnan(measure.value)}


def _measure(name: str, entry: Json, key: str, *, ends: bool = True, sign: str = "") -> _Measure:
    low, high = (_number(entry.get(end)) if ends else math.nan for end in ("ci_low", "ci_high"))
    return _Measure(_number(entry.get(key)), int(entry.get("n") or 0), low, high, 1 if name in NEITHER_IS_BETTER else 3, sign)


def _engine(name: str, part: Json) -> _Engine:
    curves = part.get("curves") or {}

    def points(curve: str, x: str, y: str) -> Points:
        read = [(_number(point.get(x)), _number(point.get(y))) for point in curves.get(curve) or ()]
        return [point for point in read if not math.isnan(sum(point))]

    return _Engine(
        name,
        _measures(part.get("metrics")),
        {share: _number(ms) for share, ms in (part.get("latency_ms") or {}).items()},
        points("risk_coverage", "coverage", "risk"),
        points("recall_at_k", "k", "recall"),
        points("latency_ms", "ms", "share"),
    )


def _facts(report: Json) -> list[tuple[str, str]]:
    questions, index, tokens = report.get("set") or {}, report.get("index") or {}, report.get("tokens") or {}
    size = ", ".join(f"{index[name]:,} {name}" for name in ("papers", "passages") if isinstance(index.get(name), int))
    facts = [
        ("Question set", " ".join(filter(None, [questions.get("name"), f"(SHA-256 {questions['sha256'][:12]})" if questions.get("sha256") else ""]))),
        ("Engine", report.get("engine")),
        ("Questions", report.get("n")),
        ("Index", size),
        ("Model", index.get("model")),
        ("Date", _moment(str(report.get("date") or ""))),
        ("Tokens", ", ".join(f"{count:,} {name.removesuffix('_tokens')}" for name, count in tokens.items())),
    ]
    return [(name, str(value)) for name, value in facts if value]


def _moment(date: str) -> str:
    try:
        return datetime.fromisoformat(date).strftime("%Y-%m-%d %H:%M %Z").strip()
    except ValueError:
        return date


def _ordered(names: Iterable[str]) -> list[str]:
    unique = list(dict.fromkeys(names))
    return [name for name in METRICS if name in unique] + [name for name in unique if name not in METRICS]


def _counted(values: Iterable[str]) -> list[tuple[str, int]]:
    found = list(values)
    return [(value, found.count(value)) for value in (*_OUTCOMES, "unknown") if value in found]


def _table(label: str, corner: str, head: Sequence[str], rows: Mapping[str, Sequence[_Measure | None]]) -> dict[str, Any]:
    # beside a metric stands the first engine's number of questions, beside a slice that of its widest metric
    wanted = slice(0, 1) if corner == "metric" else slice(None)
    shown = [
        {"name": name, "n": max((m.n for m in measures[wanted] if m), default=0), "cells": [m.cell() if m else None for m in measures]}
        for name, measures in rows.items()
    ]
    return {"label": label, "corner": corner, "head": head, "rows": shown}


def _summary(engines: Sequence[_Engine]) -> dict[str, Any]:
    rows: dict[str, list[_Measure | None]] = {name: [e.metrics.get(name) for e in engines] for name in _ordered(name for e in engines for name in e.metrics)}
    for share in dict.fromkeys(share for engine in engines for share in engine.latency_ms):
        rows[f"latency {share} (ms)"] = [_Measure(engine.latency_ms.get(share, math.nan), digits=1) for engine in engines]
    return _table("Metrics", "metric", [engine.name for engine in engines], rows)


def _slices(report: Json) -> list[dict[str, Any]]:
    cuts, kinds = report.get("slices") or {}, report.get("by_type") or {}
    whole = {"single-paper": cuts["single-paper"]} if "single-paper" in cuts else {}
    suites = {name: found for name, found in cuts.items() if name not in whole}
    tables = []
    for label, corner, part in (("Single-paper questions and types", "slice", whole | kinds), ("Stress suites", "suite", suites)):
        read = {name: _measures(found) for name, found in part.items()}
        names = _ordered(name for measures in read.values() for name in measures)
        tables.append(_table(label, corner, names, {cut: [measures.get(name) for name in names] for cut, measures in read.items()}))
    return [table for table in tables if table["rows"]]


def _suites(cases: Iterable[Json]) -> list[dict[str, Any]]:
    suites: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        shown = {name: case.get(name) or "" for name in ("id", "question", "text")} | {"passed": bool(case.get("passed")), "faults": case.get("faults") or []}
        suites.setdefault(case.get("suite") or "suite", []).append(shown)
    return [
        {"name": name, "passed": sum(case["passed"] for case in found), "cases": sorted(found, key=lambda c: c["passed"])} for name, found in suites.items()
    ]


def _comparison(engine: str, comparison: Json, questions: Sequence[Json]) -> dict[str, Any]:
    other = comparison.get("other") or {}
    rows = {
        name: [*(_measure(name, entry, side, ends=False) for side in ("ours", "other")), _measure(name, entry, "difference", sign="+")]
        for name, entry in (comparison.get("metrics") or {}).items()
    }
    places = {question["id"]: at for at, question in enumerate(questions, start=1)}
    flipped = [
        {name: entry.get(name, "") for name in ("id", "question", "ours", "other")} | {"at": places.get(entry.get("id"))}
        for entry in comparison.get("flipped") or ()
    ]
    name, about = (
        str(other.get("engine") or "other"),
        [other.get("set"), _moment(str(other.get("date") or "")), f"{comparison['n']} questions in common" if comparison.get("n") else ""],
    )
    return {
        "other": name,
        "about": ", ".join(str(part) for part in about if part),
        "table": _table("Differences", "metric", [engine, name, "difference"], rows),
        "flipped": flipped,
    }


def _plots(engines: Sequence[_Engine]) -> list[dict[str, str]]:
    shares = [(engine.name, {n: m for n, m in engine.metrics.items() if n not in NEITHER_IS_BETTER and 0 <= m.value <= 1}) for engine in engines]
    names = sorted(_ordered(name for _, measures in shares for name in measures), key=lambda name: name in SMALLER_IS_BETTER)
    drawn = []
    if names:
        intervals = [(engine, {name: (m.value, m.low, m.high) for name, m in measures.items()}) for engine, measures in shares]
        alt = f"Dots with whiskers: {len(names)} metrics for {', '.join(engine for engine, _ in shares)}; the table above holds the numbers."
        drawn.append(_plot("Metrics with 95 % intervals", alt, partial(plots.metric_intervals, intervals, names, smaller=SMALLER_IS_BETTER)))
    for title, lead, read, draw, lines in (
        ("Risk at each coverage", "risk at coverage 0.9", _risk, plots.risk_coverage, [(engine.name, engine.risk) for engine in engines]),
        ("Recall by papers retrieved", "recall at the largest k", _last, plots.recall_at_k, [(engine.name, engine.recall) for engine in engines]),
        ("Latency", "half of the questions answered within", _median, plots.latency, [(engine.name, engine.latency) for engine in engines]),
    ):
        if any(points for _, points in lines):
            alt = f"Curves; {lead}: {', '.join(f'{name} {read(points)}' for name, points in lines if points)}."
            drawn.append(_plot(title, alt, partial(draw, lines)))
    return drawn


def _risk(points: Points) -> str:
    return f"{next((risk for coverage, risk in points if coverage >= 0.9 - 1e-9), points[-1][1]):.2f}"


def _last(points: Points) -> str:
    return f"{points[-1][1]:.2f}"


def _median(points: Points) -> str:
    return f"{next((ms for ms, share in points if share >= 0.5 - 1e-9), points[-1][0]):.0f} ms"


def _plot(title: str, alt: str, draw: Callable[..., str]) -> dict[str, str]:
    light, dark = ("data:image/svg+xml;base64," + b64encode(draw(dark=dark).encode()).decode() for dark in (False, True))
    return {"title": title, "alt": alt, "light": light, "dark": dark}


def _question(entry: Json) -> dict[str, Any]:
    def rows(name: str) -> list[Any]:
        return list(entry.get(name) or ())

    gold = {paper.get("paper_id") for paper in rows("gold")}
    texts = {name: str(entry.get(name) or "") for name in ("id", "question", "text", "reference", "error", "route")}
    outcome = entry.get("outcome") or ("error" if texts["error"] else "unknown")
    searched = str(entry.get("standalone_question") or "")
    scores = {**(entry.get("scores") or {}), "confidence": entry.get("confidence"), "milliseconds": entry.get("ms")}
    return texts | {
        "type": str(entry.get("type") or "none"),
        "outcome": outcome if outcome in _OUTCOMES else "unknown",
        "searched": searched if searched != texts["question"] else "",
        "history": [(turn.get("role", ""), turn.get("content", "")) for turn in rows("history")],
        "sentences": [{"text": s.get("text", ""), "citations": s.get("citations") or (), "support": s.get("support") or ""} for s in rows("sentences")],
        "citations": [_citation(citation) for citation in rows("citations")],
        "gold": [(paper.get("paper_id", ""), paper.get("title") or "") for paper in rows("gold")],
        "also_ok": [(paper.get("paper_id", ""), paper.get("title") or "") for paper in rows("also_ok")],
        "key_facts": [(" / ".join(fact.get("forms") or ()), bool(fact.get("held"))) for fact in rows("key_facts")],
        "retrieved": [(paper, paper in gold) for paper in rows("retrieved")[:_RETRIEVED_SHOWN]],
        "scores": [(name, f"{_number(scores[name]):.3f}".rstrip("0").rstrip(".")) for name in _ordered(scores) if not math.isnan(_number(scores[name]))],
        "faults": rows("faults"),
    }


def _citation(citation: Json) -> dict[str, Any]:
    url = str(citation.get("url") or "")
    return {
        "number": citation.get("number", ""),
        "paper_id": citation.get("paper_id", ""),
        "title": citation.get("title") or citation.get("paper_id", ""),
        "authors": ", ".join(citation.get("authors") or ()),
        "url": url if re.fullmatch(r"https?://\S+", url, re.IGNORECASE) else "",
        "quotes": [quote.get("text", "") for quote in citation.get("quotes") or ()],
    }
