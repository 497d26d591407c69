"""The page in a real browser, served by a real process on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import paper

from vectorstore import Embedder, PaperIndex

ROOT = Path(__file__).parent.parent
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; on Debian: apt-get install chromium"),
    # playwright leaves its own transports to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
TITLE = "PersistBench: When Should Long-Term Memories Be Forgotten by LLMs?"
ODD = "See a <b and c> d, ~10% to ~20%, $5 and $7, snake_case_name, 2*3*4, <MASK>"
HOSTILE = f"{ODD}, <img src=x onerror=window.hit=1>"


def serve(index: Path, folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "QA_BOT_INDEX": str(index), "QA_BOT_PORT": str(port), "HOME": str(folder)}
    process = subprocess.Popen([sys.executable, str(ROOT / "app.py")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"Chat at http://127.0.0.1:{port}/ (stop with Ctrl-C)\n"
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def url(index_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("web")
    yield from serve(Path(shutil.copytree(index_folder, folder / "index")), folder)


@pytest.fixture(scope="module")
def hostile_url(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    evil = paper(
        "evil",
        title="On <MASK> <script>window.hit=1</script> tokens",
        abstract=f"We study pebbles. {ODD} pebbles. {HOSTILE} too.",
        authors=["<b>Ada</b> & _Bo_"],
    )
    PaperIndex.create(folder / "index", [evil, paper("a", title="Shells")], embedder).close()
    yield from serve(folder / "index", folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Visitor:
    """One browser session that remembers requests and errors."""

    def __init__(self, browser: Any, url: str, width: int = 1280) -> None:
        self.page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.goto(url)

    def ask(self, question: str) -> str:
        """Ask and wait for the finished answer; returns its text."""
        answers = self.page.locator("#chat .qa")
        before = answers.count()
        self.page.fill("#question textarea", question)
        self.page.keyboard.press("Enter")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            texts = answers.all_inner_texts()
            if len(texts) == before + 2 and texts[-1].strip() not in ("", "…") and not texts[-1].startswith("Loading"):
                self.page.wait_for_timeout(300)
                return str(answers.all_inner_texts()[-1])
            self.page.wait_for_timeout(100)
        raise AssertionError(f"no answer to {question!r}: {answers.all_inner_texts()}")


def test_a_question_gets_an_answer_with_title_link_and_quotes(browser: Any, url: str) -> None:
    visitor = Visitor(browser, url)
    text = visitor.ask("What median failure rates did PersistBench find?")
    assert text.startswith(f"“{TITLE}” [1]: ")
    assert "53% on cross-domain samples and 97% on sycophancy samples" in text
    link = visitor.page.locator("#chat .qa-sources a")
    assert (link.inner_text(), link.get_attribute("href")) == (TITLE, "https://openreview.net/forum?id=Z7Rhzk13NT")
    visitor.page.click("#chat summary")
    marked = visitor.page.locator("#chat mark").all_inner_texts()
    assert marked
    assert all(quote in text for quote in marked)
    assert visitor.page.inner_text("#status") == "38 papers. Answers are quoted from their abstracts."
    shots = ROOT / "test-results"
    shots.mkdir(exist_ok=True)
    visitor.page.screenshot(path=shots / "chat-1280.png", full_page=True)
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.page.screenshot(path=shots / "chat-390.png")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [address for address in visitor.requests if not address.startswith((url, "data:", "blob:"))] == []
    assert visitor.errors == []


def test_visitors_have_conversations_of_their_own(browser: Any, url: str) -> None:
    one, two = Visitor(browser, url), Visitor(browser, url)
    one.ask("What is TELLME?")
    two.ask("What is CaliDist?")
    assert "Guanxu Chen" in one.ask("who wrote it?")
    assert "Cornelia Caragea" in two.ask("who wrote it?")
    two.page.click("#clear")
    two.page.wait_for_function("document.querySelectorAll('#chat .qa').length === 0")
    assert "Caragea" not in two.ask("who wrote it?")


def test_refusals_small_talk_and_blank_input(browser: Any, url: str) -> None:
    visitor = Visitor(browser, url)
    assert visitor.ask("What is the capital of France?") == "As far as their abstracts go, the 38 papers here don't answer this."
    assert visitor.page.locator("#chat .qa-refused").count() == 1
    assert visitor.ask("thanks!") == "You're welcome. Ask on whenever you like."
    visitor.page.fill("#question textarea", "   ")
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_timeout(500)
    assert visitor.page.locator("#chat .qa").count() == 4


def test_an_example_fills_the_box(browser: Any, url: str) -> None:
    visitor = Visitor(browser, url)
    visitor.page.get_by_text("Which papers are about watermarking?").click()
    visitor.page.wait_for_function("document.querySelector('#question textarea').value === 'Which papers are about watermarking?'")
    assert visitor.page.locator("#chat .qa").count() == 0


def test_hostile_text_is_shown_literally_and_inert(browser: Any, hostile_url: str) -> None:
    visitor = Visitor(browser, hostile_url)
    text = visitor.ask(f"What about **pebbles**? {HOSTILE}")
    shown = visitor.page.inner_text("#chat")
    assert f"What about **pebbles**? {HOSTILE}" in shown
    assert ODD in text
    assert "onerror" not in text  # nobody quotes a sentence that carries a handler
    assert "On <MASK> <script>window.hit=1</script> tokens" in text
    assert "Ada & _Bo_" in text
    assert visitor.page.evaluate("window.hit") is None
    assert visitor.page.locator("#chat img, #chat script").count() == 0


def test_files_of_the_machine_are_not_served(url: str) -> None:
    for address in ("gradio_api/file=/etc/passwd", "gradio_api/file=pyproject.toml", "gradio_api/file=../index/manifest.json"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url + address, timeout=10)
        assert caught.value.code in (403, 404)
        caught.value.close()
