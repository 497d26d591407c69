"""Plots of an evaluation as SVG text; matplotlib is used only here, without pyplot and without a display."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Interval = tuple[float, float, float]
"""A value with the lower and the upper end of its interval, NaN where there is none."""

Line = tuple[str, Sequence[tuple[float, float]]]
"""An engine's name with its points ``(x, y)``; the place in a sequence of lines sets its colour, so an engine without points keeps its place."""

WIDTH = 4.6
"""Inches. At 10 points the text is still about 10 px high where a phone shows the plot 340 px wide."""

_CURVE_HEIGHT = 2.7
_LEGEND_ROW = 0.2
_SHORT_NAME = 16
_LONG_NAME = 36
_DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", "--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)), (0, (2, 3)))
_MARKERS = ("o", "s", "D", "^", "v", "P")
_MARKED_COVERAGE = 0.9
_LEAST_MS = 0.1


@dataclass(frozen=True, slots=True)
class _Theme:
    ink: str
    faint: str
    colours: tuple[str, ...]


# from Okabe and Ito's palette and Tol's, chosen to stand out at 3:1 from the page and to differ in lightness too
_LIGHT = _Theme("#24292f", "#d5dae0", ("#0072b2", "#d55e00", "#008a64", "#882255", "#6b6b6b", "#a07800"))
_DARK = _Theme("#dde3e9", "#3a424b", ("#56b4e9", "#f08a45", "#3ccfa0", "#f0a6d0", "#b8b8b8", "#f0e442"))


def metric_intervals(engines: Sequence[tuple[str, Mapping[str, Interval]]], names: Sequence[str], *, smaller: Collection[str] = (), dark: bool = False) -> str:
    """Dots with whiskers: a row for each metric of ``names``, top down, a dot for each engine; values 0 to 1. Names in ``smaller`` get an arrow down."""
    gap = 0.8 / max(1, len(engines))
    with _drawing(dark, height=0.6 + len(names) * (0.16 + 0.09 * len(engines))) as (figure, axes, theme):
        for row in range(0, len(names), 2):
            axes.axhspan(row - 0.5, row + 0.5, color=theme.faint, alpha=0.35, linewidth=0)
        for at, (engine, intervals) in enumerate(engines):
            drawn = [(row + gap * (at - (len(engines) - 1) / 2), *intervals[name]) for row, name in enumerate(names) if name in intervals]
            if not drawn:
                continue
            colour = theme.colours[at % len(theme.colours)]
            whiskers = [(y, low, high) for y, _, low, high in drawn if not math.isnan(low + high)]
            axes.hlines([y for y, _, _ in whiskers], [low for _, low, _ in whiskers], [high for _, _, high in whiskers], colors=colour, linewidth=1.3)
            marker = _MARKERS[at % len(_MARKERS)]
            axes.plot([value for _, value, _, _ in drawn], [y for y, *_ in drawn], marker, color=colour, markersize=4, label=_label(engine))
        axes.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)))
        axes.set_yticklabels([_label(name) + " ↓" * (name in smaller) for name in names])
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labeltop=True)
        return _svg(figure)


def risk_coverage(lines: Sequence[Line], *, dark: bool = False) -> str:
    """Risk (share of wrong answers) over coverage (share of questions answered, the most confident first), both 0 to 1; 0.9 is marked."""
    with _drawing(dark) as (figure, axes, theme):
        _draw(axes, theme, lines)
        top = max([0.05, *(y for _, points in lines for _, y in points)])
        axes.set(xlabel="coverage", ylabel="risk = 1 - accuracy", xlim=(0, 1.01), ylim=(-0.02 * top, 1.08 * top))
        axes.axvline(_MARKED_COVERAGE, color=theme.ink, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        axes.annotate(
            f"{_MARKED_COVERAGE}", (_MARKED_COVERAGE, 1), (-3, -3), xycoords=("data", "axes fraction"), textcoords="offset points", ha="right", va="top"
        )
        return _svg(figure)


def recall_at_k(lines: Sequence[Line], *, dark: bool = False) -> str:
    """Recall, 0 to 1, over the number of papers retrieved, whole numbers from 1."""
    with _drawing(dark) as (figure, axes, theme):
        _draw(axes, theme, lines, markers=True)
        ks = sorted({int(x) for _, points in lines for x, _ in points})
        lowest = min([0.9, *(y for _, points in lines for _, y in points)])
        axes.set(xlabel="papers retrieved (k)", ylabel="recall@k", xticks=ks, ylim=(max(-0.02, lowest - 0.05), 1.01))
        return _svg(figure)


def latency(lines: Sequence[Line], *, dark: bool = False) -> str:
    """Share of the questions answered, 0 to 1, within a time; points are ``(milliseconds, share)``, drawn as steps over a log scale."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    with _drawing(dark) as (figure, axes, theme):
        # a log scale has no zero; what a clock gives as 0 ms is drawn at its left end
        _draw(axes, theme, [(name, [(max(ms, _LEAST_MS), share) for ms, share in points]) for name, points in lines], drawstyle="steps-post")
        axes.set(xlabel="milliseconds (log scale)", ylabel="share answered within", xscale="log", ylim=(0, 1.02))
        low, high = axes.get_xlim()
        # ticks at 1, 2 and 5 only as long as they don't run into each other
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 500 else (1,)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        return _svg(figure)


@contextmanager
def _drawing(dark: bool, height: float = _CURVE_HEIGHT) -> Iterator[tuple[Figure, Axes, _Theme]]:
    from matplotlib import style
    from matplotlib.figure import Figure

    theme = _DARK if dark else _LIGHT
    inks = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), theme.ink)
    settings = {
        "svg.fonttype": "none",  # text stays text: a tenth of the size of outlines
        "svg.hashsalt": "qa-bot",  # else element ids differ from run to run
        "text.parse_math": False,  # names may hold dollar signs
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": theme.faint,
        "grid.linewidth": 0.7,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "legend.fontsize": 10,
    }
    # after_reset: a matplotlibrc of the user's must not change the report
    with style.context({**settings, **inks}, after_reset=True):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        yield figure, figure.add_subplot(), theme


def _draw(axes: Axes, theme: _Theme, lines: Sequence[Line], *, markers: bool = False, drawstyle: str = "default") -> None:
    for at, (engine, points) in enumerate(lines):
        if points:
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=theme.colours[at % len(theme.colours)],
                linestyle=_DASHES[at % len(_DASHES)],
                linewidth=1.8,
                marker=_MARKERS[at % len(_MARKERS)] if markers or len(points) == 1 else "",
                markersize=4,
                drawstyle=drawstyle,
                label=_label(engine),
            )


def _label(name: str) -> str:
    # the font lacks most other letters, and a legend leaves out what begins with an underscore
    plain = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in name).lstrip("_")
    return plain if len(plain) <= _LONG_NAME else plain[: _LONG_NAME - 1] + "…"


def _svg(figure: Figure) -> str:
    # the legend stands above the axes, and the figure grows with it
    names = figure.axes[0].get_legend_handles_labels()[1]
    columns = 1 if any(len(name) > _SHORT_NAME for name in names) else 2
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * math.ceil(len(names) / columns))
    figure.legend(loc="outside upper left", ncols=columns)
    out = StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return out.getvalue()
