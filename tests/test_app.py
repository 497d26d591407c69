"""The page's own state, without a browser."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qa_bot.settings import Settings

ROOT = Path(__file__).parent.parent


def loading(index: Path) -> object:
    import app

    return app.Loading(Settings(index=index))


@pytest.mark.filterwarnings("default")  # gradio's import and its dependencies warn of themselves
def test_it_says_that_it_loads_and_then_how_many_papers_there_are(index_folder: Path) -> None:
    state = loading(index_folder)
    assert state.state() == (False, "Loading the search model …")  # type: ignore[attr-defined]
    state.start()  # type: ignore[attr-defined]
    bot = state.bot()  # type: ignore[attr-defined]
    assert state.state() == (True, "38 papers. Answers are quoted from their abstracts.")  # type: ignore[attr-defined]
    bot.close()


@pytest.mark.filterwarnings("default")
def test_a_fault_is_told_to_visitors_without_paths(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "mine.txt").touch()
    state = loading(tmp_path)
    state.start()  # type: ignore[attr-defined]
    assert state.bot() is None  # type: ignore[attr-defined]
    assert state.state() == (True, "The papers can't be searched at the moment; the reason is in the program's log.")  # type: ignore[attr-defined]
    assert [record.getMessage() for record in caplog.records if record.name == "qa_bot.web"] == [
        f"{tmp_path} is not an index but a folder of other files; set QA_BOT_INDEX to an index, or to a folder that doesn't exist yet"
    ]


def test_an_interrupt_ends_it_quietly(index_folder: Path) -> None:
    command = [sys.executable, "-m", "qa_bot", "chat", "--port", "0", "--index", str(index_folder)]
    # whoever runs the tests in the background may have interrupts ignored, which a child inherits
    default = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=default) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Chat at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err


def test_a_taken_port_is_one_line(index_folder: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "qa_bot", "chat", "--port", str(port), "--index", str(index_folder)], capture_output=True, text=True, timeout=120, cwd=ROOT
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"qa-bot: can't listen on 127.0.0.1 port {port}, it is taken or no address of this machine; choose another with --port or QA_BOT_PORT\n"
    )
