"""Nothing is asked of any other machine, with no variable set from outside to keep the libraries quiet."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_socket import SocketConnectBlockedError

ROOT = Path(__file__).parent.parent
PROGRAM = """
import json, socket, sys, time, urllib.request
hosts = set()
def listen(event, arguments):
    if event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        hosts.add(str(arguments[1][0]))
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        hosts.add(str(arguments[0]))
sys.addaudithook(listen)
from qa_bot.bot import PaperBot
from qa_bot.settings import Settings
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
settings = Settings(port=port)
bot = PaperBot.open(settings=settings)
assert bot.ask("What is PersistBench?").citations
assert bot.chain.invoke("What is PersistBench?")["documents"]
import app
demo = app.serve(settings, block=False)
page = urllib.request.urlopen(demo.local_url, timeout=30).read().decode()
assert "Ask the papers" in page
time.sleep(3)
demo.close()
print(json.dumps(sorted(hosts)))
"""


def test_the_guard_of_these_tests_blocks_other_machines() -> None:
    with pytest.warns(UserWarning, match="192.0.2.1"), pytest.raises(SocketConnectBlockedError), socket.socket() as outside:
        outside.connect(("192.0.2.1", 80))


def test_index_ask_and_page_stay_on_this_machine(tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "QA_BOT_INDEX": str(tmp_path / "index"),
        # what another project may have left behind must not switch anything on
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_TRACING_V2": "true",
        "LANGCHAIN_TRACING_V2": "true",
        "LANGSMITH_API_KEY": "left-behind",
        "GRADIO_ANALYTICS_ENABLED": "True",
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout.splitlines()[-1])) <= {"127.0.0.1", "::1", "localhost", "0.0.0.0", "None"}
