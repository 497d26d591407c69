"""What the command line shows: answers, tables and progress. Answers go to standard output, the rest to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from qa_bot.answer import Answer
    from vectorstore import Paper, Status

out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def say(line: str) -> None:
    """One line on standard error, its text shown literally."""
    err.print(Text(line))


def show_answer(answer: Answer) -> None:
    """The answer, then its sources with titles, authors and links."""
    out.print(Text(answer.text))
    if answer.standalone_question != answer.question:
        out.print(Text(f"\nSearched: {answer.standalone_question}", style="dim"))
    if answer.citations:
        out.print(Text("\nSources", style="bold"))
        for source in answer.citations:
            names = ", ".join(source.authors[:3]) + (" et al." if len(source.authors) > 3 else "")
            out.print(Text(f"[{source.number}] {source.title}" + (f" ({names})" if names else "") + (f" {source.url}" if source.url else "")))


def show_papers(papers: Iterable[Paper]) -> int:
    """One line a paper; returns their number."""
    number = 0
    for paper in papers:
        number += 1
        place = " ".join(part for part in (paper.venue, None if paper.venue and str(paper.year) in paper.venue else str(paper.year or "")) if part)
        out.print(Text.assemble((paper.id, "cyan"), "  ", paper.title, (f"  {place}" if place else "", "dim")))
    return number


def show_status(status: Status) -> None:
    """The index's health as a table."""
    manifest = status.manifest
    table = Table(show_header=False, box=None)
    rows = {
        "index": str(status.folder),
        "papers": f"{manifest.papers:,}",
        "passages": f"{manifest.passages:,}",
        "embedding model": f"{manifest.model} (weights {manifest.weights_sha256[:12]}…, {manifest.dimension} dimensions)",
        "text version": str(manifest.text_version),
        "written with": f"chromadb {manifest.chromadb}",
        "generation": str(manifest.generation),
        "size": f"{status.size_bytes / 1e6:.1f} MB",
        "health": "good" if not status.problems else f"{len(status.problems)} problems",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    out.print(table)


@contextmanager
def progress(task: str, unit: str = "passages") -> Iterator[Callable[[int, int], None]]:
    """A bar with rate and time left, shown from the first call of the yielded function; without a terminal, two plain lines."""
    rate = TextColumn(f"{{task.fields[rate]}} {unit}/s")
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), console=err, transient=True)
    state: dict[str, Any] = {}

    def update(done: int, total: int) -> None:
        if not state:
            say(f"{task} ({total:,} {unit}) …")
            state["task"] = bar.add_task(task, total=total, rate="…")
            if err.is_terminal:
                bar.start()
        speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
        bar.update(state["task"], completed=done, rate=f"{speed:.0f}" if speed else "…")

    try:
        yield update
    finally:
        if state and err.is_terminal:
            bar.stop()
        if state and sys.exc_info()[0] is None:
            say(f"{task}: done")
