"""The ``qa-bot`` command. Heavy modules are imported inside the commands, so that ``--help`` is quick."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_bot import cli_evaluation
from qa_bot.quiet import silence

if TYPE_CHECKING:
    from qa_bot.settings import Settings
    from vectorstore import PaperIndex

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)

IndexOption = Annotated[Path | None, typer.Option("--index", help="Folder of the index [default: QA_BOT_INDEX, else a per-user folder].")]
FilterOption = Annotated[
    list[str] | None, typer.Option("--filter", "-f", help="FIELD=VALUE, repeatable: year=2026, year=2020-2022, venue=, topic=, author=, id=.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def root() -> None:
    """Ask questions about research papers and get cited answers."""


@app.command()
def ask(question: str, as_json: JsonOption = False, filters: FilterOption = None, index: IndexOption = None) -> None:
    """Answer one question from the papers. The first call builds the index from the bundled papers."""
    from qa_bot.bot import PaperBot
    from qa_bot.terminal import progress, say, show_answer
    from vectorstore import Filters

    chosen = Filters.parse(filters or [])
    with progress("Building the index") as update:
        bot = PaperBot.open(index, settings=_settings(), progress=update)
    answer = bot.ask(question, filters=chosen)
    if as_json:
        _print_json(answer.to_dict())
    elif answer.route != "blank":
        show_answer(answer)
    if answer.route == "blank":
        say(f"qa-bot: {question[:60]!r} is no question; {answer.text}")
        raise typer.Exit(2)


@app.command()
def chat(
    host: Annotated[str | None, typer.Option(help="Address to listen on [default: QA_BOT_HOST, else 127.0.0.1].")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port [default: QA_BOT_PORT, else 7860].")] = None,
    index: IndexOption = None,
) -> None:
    """Open the web chat."""
    import app as web

    chosen = {"host": host, "port": port, "index": index}
    web.serve(_settings().model_copy(update={name: value for name, value in chosen.items() if value is not None}))


@app.command()
def add(files: Annotated[list[Path], typer.Argument(metavar="FILE…")], as_json: JsonOption = False, index: IndexOption = None) -> None:
    """Add the papers of JSON Lines files, replacing those with the same id; makes the index if there is none."""
    from qa_bot.terminal import progress, say
    from vectorstore import Embedder, PaperIndex, load_papers
    from vectorstore.errors import SourceError

    settings = _settings()
    folder = _folder(settings, index)
    counts = {"added": 0, "changed": 0, "unchanged": 0, "duplicates": 0, "rejected": 0}
    errors: list[str] = []
    try:
        for file in files:
            loaded = None
            try:
                loaded = load_papers(file)
            except SourceError as error:
                faults = [str(error)]
            else:
                faults = [str(rejected) for rejected in loaded.rejected]
                counts["rejected"] += len(faults)
                counts["duplicates"] += loaded.duplicates
            for line in faults:
                say(f"qa-bot: {line}")
            errors += faults
            if loaded is not None and loaded.papers:
                with progress(f"Embedding {file.name}") as update, PaperIndex.create(folder, [], Embedder(settings.embedding_model)) as opened:
                    done = opened.add(loaded.papers, progress=update)
                counts = {name: number + getattr(done, name, 0) for name, number in counts.items()}
    finally:
        if as_json:
            _print_json({**counts, "errors": errors})
        else:
            print(", ".join(f"{number:,} {name}" for name, number in counts.items() if number or name == "added"))
    if errors:
        raise typer.Exit(1)


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(metavar="ID…")], index: IndexOption = None) -> None:
    """Remove papers by id; if one is unknown, none is removed."""
    with _open(index) as opened:
        print(f"{opened.remove(ids):,} removed, {opened.count():,} left")


@app.command("list")
def list_papers(
    ids: Annotated[list[str] | None, typer.Option("--id", help="Only this paper, repeatable.")] = None,
    filters: FilterOption = None,
    limit: Annotated[int, typer.Option(min=-1, help="At most so many; -1 for all.")] = -1,
    as_json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """List the papers in the index, by title."""
    from qa_bot.terminal import say, show_papers
    from vectorstore import Filters, PaperNotFound

    chosen = Filters.parse([*(filters or []), *(f"id={i}" for i in ids or [])])
    with _open(index) as opened:
        if ids and (unknown := tuple(i for i in ids if i not in opened.get(ids))):
            raise PaperNotFound(unknown)
        if as_json:
            _print_json([paper.to_dict() for paper in opened.papers(chosen, limit=limit)])
            return
        shown = show_papers(opened.papers(chosen, limit=limit))
        say(f"{shown:,} of {opened.count():,} papers")


@app.command()
def status(as_json: JsonOption = False, index: IndexOption = None) -> None:
    """Check the index: every paper, every vector."""
    from dataclasses import asdict

    from qa_bot.terminal import say, show_status

    with _open(index) as opened:
        found = opened.status()
    if as_json:
        _print_json({"index": str(found.folder), **asdict(found.manifest), "size_bytes": found.size_bytes, "problems": list(found.problems)})
    else:
        show_status(found)
    for problem in found.problems:
        say(f"qa-bot: {problem}")
    if found.problems:
        raise typer.Exit(1)


@app.command()
def rebuild(index: IndexOption = None) -> None:
    """Make the index anew from its own catalogue, with the embedding model that is set; the old one serves meanwhile."""
    from qa_bot.terminal import progress
    from vectorstore import Embedder, PaperIndex

    settings = _settings()
    with (
        progress("Rebuilding the index") as update,
        PaperIndex.rebuild(_folder(settings, index), Embedder(settings.embedding_model), progress=update) as opened,
    ):
        print(f"rebuilt with {opened.count():,} papers")


def _settings() -> Settings:
    from qa_bot.settings import load_settings

    return load_settings()


def _folder(settings: Settings, index: Path | None) -> Path:
    return (index or settings.index).expanduser()


def _open(index: Path | None) -> PaperIndex:
    from vectorstore import Embedder, PaperIndex

    settings = _settings()
    return PaperIndex(_folder(settings, index), Embedder(settings.embedding_model))


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=1))


app.add_typer(cli_evaluation.app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; expected failures become one line on standard error, exit code 2 for wrong use, else 1."""
    silence()
    # undecodable arguments and odd terminals must not break an answer that is ready to be printed
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
    try:
        app(arguments)
    except Exception as error:
        from qa_bot.errors import QABotError
        from vectorstore.errors import StoreError

        if not isinstance(error, QABotError | StoreError) or os.environ.get("QA_BOT_DEBUG"):
            raise
        print(f"qa-bot: {error}", file=sys.stderr)
        raise SystemExit(2 if error.usage else 1) from None


if __name__ == "__main__":
    main()
