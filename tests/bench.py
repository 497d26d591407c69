"""Speed and size, measured in fresh processes: ``make bench``, or

    python tests/bench.py --papers FILE --questions FILE

indexes FILE in a temporary folder, then asks every question once, warm, from one thread. Prints one JSON object a corpus.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from qa_bot.bot import PaperBot
from qa_bot.evaluate import bundled_questions, evaluate, load_questions
from qa_bot.evaluate.statistics import percentile
from qa_bot.quiet import silence
from vectorstore import Embedder, PaperIndex, load_papers


def index_papers(source: Path, folder: Path) -> dict[str, Any]:
    """Load and index all papers; seconds include loading the model."""
    started = time.perf_counter()
    papers = load_papers(source).papers
    read = time.perf_counter()
    with PaperIndex.create(folder, papers, Embedder()) as index:
        seconds = time.perf_counter() - started
        manifest = index.manifest
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "papers": manifest.papers,
        "passages": manifest.passages,
        "read_s": round(read - started, 2),
        "index_s": round(seconds, 1),
        "papers_per_s": round(manifest.papers / seconds, 1),
        "size_mb": round(size / 1e6, 1),
        "peak_memory_mb": _peak(),
    }


def ask_questions(folder: Path, questions: Path | None) -> dict[str, Any]:
    """Open the index, then ask every question once, warm."""
    started = time.perf_counter()
    bot = PaperBot.open(folder)
    opened = time.perf_counter()
    bot.warm()
    ready = time.perf_counter()
    asked = load_questions(questions) if questions else bundled_questions()
    report = evaluate(bot, asked, baselines=(), suites=())
    milliseconds = [entry.seconds * 1000 for entry in report.scored]
    again = time.perf_counter()
    with PaperIndex(folder, bot.index.embedder) as index:
        index.add(list(index.papers()))
    return {
        "open_s": round(opened - started, 2),
        "load_model_s": round(ready - opened, 2),
        "questions": len(asked),
        "ask_ms": {name: round(percentile(milliseconds, share), 1) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))},
        "add_unchanged_s": round(time.perf_counter() - again, 2),
        "peak_memory_mb": _peak(),
        "metrics": {name: round(found.value, 4) for name, found in report.metrics.items()},
        "single_paper": {name: round(found.value, 4) for name, found in report.slices["single-paper"].items()},
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _in_fresh_process(function: Callable[..., dict[str, Any]], *arguments: object) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(function, arguments)
        pool.close()  # leaving the block at once would end the process in the middle of its own clean-up
        pool.join()
    return result


def main() -> None:
    """Entry point."""
    silence()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--papers", type=Path, help="JSON Lines file [default: the bundled papers]")
    parser.add_argument("--questions", type=Path, help="question set [default: the bundled one]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, resources.as_file(resources.files("vectorstore.corpora").joinpath("icml2026.jsonl")) as bundled:
        folder = Path(scratch) / "index"
        source = options.papers or bundled
        print(
            json.dumps(
                {
                    "source": source.name,
                    "index": _in_fresh_process(index_papers, source, folder),
                    "ask": _in_fresh_process(ask_questions, folder, options.questions),
                },
                indent=1,
            )
        )


if __name__ == "__main__":
    main()
