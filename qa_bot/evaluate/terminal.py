"""An evaluation on the terminal: progress, the table with baselines, slices, comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from qa_bot.evaluate.scoring import METRICS, SMALLER_IS_BETTER
from qa_bot.terminal import out, progress

Reported = Mapping[str, Any]

_BY_TYPE = ("hit@1", "mrr", "citation_precision", "citation_recall", "key_fact_recall", "accuracy", "refusal_recall", "needless_refusals", "count_exactness")
_FEWEST = 10
"""Fewest questions for a verdict; the bootstrap of a few is too sure of itself."""
_WIDTH = 150
"""Columns where there is no terminal: a pipe or log has no width of its own, and a table must not be cut to 80 there."""


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """One progress bar after the other, for the yielded function's stages."""
    with ExitStack() as stack:
        current = ""
        update: Callable[[int, int], None] | None = None

        def note(stage: str, done: int, total: int) -> None:
            nonlocal current, update
            if stage != current or update is None:
                stack.close()
                current, update = stage, stack.enter_context(progress(stage, "steps"))
            update(done, total)

        yield note


def show_report(report: Reported) -> None:
    """The metrics with intervals beside the baselines, then by slice and type, then times, errors and failed stress cases."""
    console = out if out.is_terminal else Console(width=_WIDTH, highlight=False)
    index = report["index"]
    console.print(_metrics(report, f"{report['set']['name']}: {report['n']} questions, {index['papers']:,} papers, engine {report['engine']}"))
    console.print(_cuts(report))
    if stress := _stress(report):
        console.print(stress)
    latency = report["latency_ms"]
    tokens = "".join(f", {number:,} {name.replace('_', ' ')}" for name, number in report["tokens"].items())
    console.print(f"latency p50 {latency['p50']:.0f} ms, p95 {latency['p95']:.0f} ms, p99 {latency['p99']:.0f} ms{tokens}")
    for error in report["errors"]:
        console.print(Text(f"failed: {error['id']}: {error['error']}", style="red"))


def show_comparison(comparison: Reported) -> None:
    """Paired differences, marked where the interval leaves out 0, and the questions that flipped."""
    console = out if out.is_terminal else Console(width=_WIDTH, highlight=False)
    other = comparison["other"]
    table = Table(title=f"against {other['engine']} of {other['date'] or 'unknown date'}, {comparison['n']} questions in common")
    for column, justify in (("metric", "left"), ("ours", "right"), ("other", "right"), ("difference", "right"), ("95 % interval", "right"), ("n", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for name, row in comparison["metrics"].items():
        differs = (row["ci_low"] > 0 or row["ci_high"] < 0) and row["n"] >= _FEWEST
        better = (row["difference"] < 0) if name in SMALLER_IS_BETTER else (row["difference"] > 0)
        style = ("green" if better else "red") if differs else None
        interval = f"{row['ci_low']:+.3f} … {row['ci_high']:+.3f}"
        table.add_row(_label(name), f"{row['ours']:.3f}", f"{row['other']:.3f}", f"{row['difference']:+.3f}", interval, str(row["n"]), style=style)
    console.print(table)
    if comparison["left_out"]:
        console.print(f"{comparison['left_out']} questions are not compared: the other report lacks them, or their words, history or right papers differ")
    for flip in comparison["flipped"]:
        console.print(Text(f"{flip['id']}: {flip['other']} → {flip['ours']}: {flip['question']}"))
    if not comparison["flipped"]:
        console.print("no question flipped")


def _metrics(report: Reported, title: str) -> Table:
    table = Table(title=title)
    table.add_column("metric")
    engines: dict[str, Reported] = {report["engine"]: report["metrics"], **{name: run["metrics"] for name, run in report["baselines"].items()}}
    for engine in engines:
        table.add_column(engine, justify="right")
    table.add_column("n", justify="right")
    for name in METRICS:
        if name in report["metrics"]:
            table.add_row(_label(name), *(_interval(metrics.get(name)) for metrics in engines.values()), str(report["metrics"][name]["n"]))
    times = [report["latency_ms"], *(run["latency_ms"] for run in report["baselines"].values())]
    table.add_row("p50 / p95 ms", *(f"{time['p50']:.1f} / {time['p95']:.1f}" for time in times), str(report["n"]), style="dim")
    return table


def _cuts(report: Reported) -> Table:
    groups = {**{name: values for name, values in report["slices"].items() if name == "single-paper"}, **report["by_type"]}
    columns = [name for name in _BY_TYPE if any(name in values for values in groups.values())]
    table = Table(title="by type")
    table.add_column("questions")
    table.add_column("n", justify="right")
    for name in columns:
        table.add_column(_label(name), justify="right", min_width=5)
    for group, values in groups.items():
        n = values["accuracy"]["n"]
        table.add_row(Text(group), str(n), *(f"{values[name]['value']:.3f}" if name in values else "" for name in columns))
    return table


def _stress(report: Reported) -> Table | None:
    suites = list(dict.fromkeys(trial["suite"] for trial in report["suites"]))
    if not suites:
        return None
    table = Table(title="stress suites")
    for column in ("suite", "passed", "figures", "first fault"):
        table.add_column(column, overflow="fold")
    for suite in suites:
        cases = [trial for trial in report["suites"] if trial["suite"] == suite]
        failed = [trial for trial in cases if not trial["passed"]]
        figures = ", ".join(f"{_label(name)} {value['value']:.3f}" for name, value in report["slices"][suite].items())
        first = f"{failed[0]['id']}: {failed[0]['faults'][0]}" if failed else ""
        table.add_row(suite, f"{len(cases) - len(failed)} of {len(cases)}", figures, Text(first if len(first) < 120 else first[:119] + "…"))
    return table


def _interval(value: Reported | None) -> str:
    if value is None:
        return ""
    if value["value"] > 1:
        return f"{value['value']:.0f} [{value['ci_low']:.0f}, {value['ci_high']:.0f}]"
    return f"{value['value']:.3f} [{value['ci_low']:.3f}, {value['ci_high']:.3f}]"


def _label(name: str) -> str:
    return name.replace("_", " ")
