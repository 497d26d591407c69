"""The architecture as far as the syntax trees show it: import arrows, one door a library, file sizes, exports."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("qa_bot", "vectorstore", "prompts")
SOURCES = sorted([file for package in PACKAGES for file in (ROOT / package).rglob("*.py")] + [ROOT / "app.py"])
ARROWS = {"app": {"qa_bot", "vectorstore"}, "qa_bot": {"vectorstore", "prompts", "app"}, "vectorstore": set(), "prompts": set()}
DOORS = {
    "chromadb": {"vectorstore/vectors.py"},
    "sentence_transformers": {"vectorstore/embedding.py", "qa_bot/language_model.py"},
    "transformers": {"vectorstore/embedding.py", "qa_bot/learned/reader.py"},
    "torch": {"vectorstore/embedding.py", "qa_bot/learned/reader.py", "qa_bot/learned/reader_training.py"},
    "safetensors": {"qa_bot/learned/reader.py", "qa_bot/learned/reader_training.py"},
    "rapidfuzz": {"vectorstore/spelling.py"},
    "huggingface_hub": {"vectorstore/embedding.py"},
    "sqlite3": {"vectorstore/catalogue.py"},
    "gradio": {"app.py"},
    "ir_measures": {"qa_bot/evaluate/metrics.py"},
    "jinja2": {"qa_bot/evaluate/page.py"},
    "langchain": {"qa_bot/language_model.py"},
    "langchain_chroma": {"qa_bot/evaluate/baselines.py"},
    "langchain_core": {"qa_bot/chain.py", "qa_bot/bot.py", "qa_bot/evaluate/baselines.py", "qa_bot/language_model.py"},
    "langchain_text_splitters": {"qa_bot/evaluate/baselines.py"},
    "matplotlib": {"qa_bot/evaluate/plots.py"},
    "typer": {"qa_bot/cli.py", "qa_bot/cli_evaluation.py"},
    "rich": {"qa_bot/terminal.py", "qa_bot/evaluate/terminal.py"},
    "sklearn": {"qa_bot/learned/fitting.py", "qa_bot/learned/sentence_fitting.py"},
}
MAY_TOUCH_ENVIRONMENT = {"qa_bot/settings.py", "qa_bot/cli.py", "qa_bot/quiet.py", "vectorstore/embedding.py"}


def imports(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}}


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("file", SOURCES, ids=relative)
def test_imports_follow_the_arrows_and_the_doors(file: Path) -> None:
    room = file.relative_to(ROOT).parts[0].removesuffix(".py")
    found = imports(file)
    assert found & {"app", *PACKAGES} <= ARROWS[room] | {room}
    for library, doors in DOORS.items():
        assert library not in found or relative(file) in doors, f"{library} is imported outside its door"
    if "os.environ" in file.read_text("utf-8"):
        assert relative(file) in MAY_TOUCH_ENVIRONMENT


def test_only_the_chat_command_opens_the_page() -> None:
    assert [relative(file) for file in SOURCES if "app" in imports(file) and relative(file) != "app.py"] == ["qa_bot/cli.py"]


@pytest.mark.parametrize("file", [*SOURCES, *sorted((ROOT / "tests").glob("*.py"))], ids=relative)
def test_files_stay_small_and_are_named_by_nouns(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= 300
    assert not {"utils", "helpers", "common", "misc"} & set(file.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("package", ["qa_bot", "vectorstore", "prompts", "qa_bot.evaluate", "vectorstore.loaders"])
def test_exports_are_sorted_complete_and_there(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), name))
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_nothing_unsafe_is_loaded_or_run() -> None:
    banned = re.compile(r"\b(?:import pickle|pickle\.|eval\(|exec\(|trust_remote_code=True|share=True|0\.0\.0\.0)")
    assert [relative(file) for file in SOURCES if banned.search(re.sub(r"\.eval\(", "", file.read_text("utf-8")))] == []
