"""The README's Python and shell examples, run as they stand against an index of the bundled papers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import qa_bot
from qa_bot.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line.startswith("qa-bot ")]


@pytest.fixture(autouse=True)
def _default_index(index_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("QA_BOT_INDEX", str(index_folder))
    monkeypatch.chdir(tmp_path)
    qa_bot.bot._default_bot.cache_clear()
    yield
    qa_bot.bot._default_bot.cache_clear()


def test_python_examples_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 3
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    out = capsys.readouterr().out
    assert "Spherical Steering: Geometry-Aware Activation Rotation for Language Models" in out
    assert "What is TELLME? who wrote it? -> “Beyond External Monitors" in out


def test_there_are_shell_examples() -> None:
    assert len(COMMANDS) == 6


@pytest.mark.parametrize("command", COMMANDS)
def test_shell_examples_succeed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(command)[1:])
    assert caught.value.code in (0, None)
    assert capsys.readouterr().out


def test_every_setting_is_documented() -> None:
    from qa_bot.settings import Settings

    assert {f"QA_BOT_{name.upper()}" for name in Settings.model_fields} <= set(re.findall(r"QA_BOT_[A-Z_]+", README))


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    assert "make test" in README
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")
