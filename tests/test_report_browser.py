"""The evaluation report in a real browser, opened from a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_report_page import EVIL, comparison, curves, measure, question, sample

from qa_bot.evaluate.page import render

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; on Debian: apt-get install chromium"),
    # playwright leaves its own transports to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
WORD = " ".join(EVIL)
# Contrast of every shown text against what is painted behind it (WCAG 2.2, 1.4.3); returns the texts under 4.5 to 1.
FAINT = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => parts(colour).slice(0, 3)
    .map((part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
  };
  const texts = [...document.querySelectorAll('main *')].filter((node) =>
    node.checkVisibility() && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  const faint = texts.filter((node) => {
    const [low, high] = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05) < 4.5;
  });
  return [texts.length > 100, faint.map((node) => node.textContent)];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Reading:
    """A report opened from a file; ``close`` fails if it asked for anything else or wrote to the console."""

    def __init__(self, browser: Any, folder: Path, report: dict[str, Any], *, width: int = 1280, scheme: str = "light", anchor: str = "") -> None:
        self.file = folder / "report.html"
        self.file.write_text(render(report, comparison()), "utf-8")
        self.page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        self.requests: list[str] = []
        self.console: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("dialog", lambda dialog: self.console.append(dialog.message))
        self.page.goto(self.file.as_uri() + anchor)

    def shown(self) -> list[str]:
        """Ids of the elements of the questions shown."""
        found = self.page.locator("details.question").evaluate_all("nodes => nodes.filter(node => node.checkVisibility()).map(node => node.id)")
        return [str(name) for name in found]

    def close(self) -> None:
        assert [address for address in self.requests if not address.startswith("data:")] == [self.page.url]
        assert self.console == []
        self.page.context.close()


def hostile() -> dict[str, Any]:
    """The report of :func:`sample` with hostile text wherever a paper, a user or a model can put it."""
    paper = {"paper_id": WORD, "title": WORD}
    entry = question(
        5,
        WORD,
        "wrong",
        **dict.fromkeys(("id", "question", "text", "reference", "route", "error"), WORD),
        history=[{"role": WORD, "content": WORD}],
        standalone_question=WORD + "!",
        faults=[WORD],
        sentences=[{"text": WORD, "citations": [1], "support": WORD}],
        citations=[{"number": 1, **paper, "authors": [WORD], "url": "javascript:window.hit=1", "quotes": [{"text": WORD}]}],
        gold=[paper],
        also_ok=[paper],
        key_facts=[{"forms": [WORD], "held": True}],
        retrieved=[WORD],
        scores={WORD: 1.0},
    )
    case = {"suite": WORD, "id": WORD, "question": WORD, "passed": False, "faults": [WORD], "text": WORD}
    return sample() | {
        "engine": WORD,
        "set": {"name": WORD},
        "by_type": {WORD: {WORD: measure(0.5)}},
        "baselines": {WORD: {"metrics": {WORD: measure(0.5)}, "curves": curves(3.0)}},
        "errors": [{"id": WORD, "error": WORD}],
        "suites": [case],
        "questions": [entry, question(1, "fact", "right")],
    }


def test_questions_are_filtered_by_type_outcome_and_text(browser: Any, tmp_path: Path) -> None:
    reading = Reading(browser, tmp_path, sample())
    page = reading.page

    def filtered(kind: str = "", outcome: str = "", text: str = "") -> tuple[list[str], str]:
        page.get_by_label("Type", exact=True).select_option(kind)
        page.get_by_label("Outcome").select_option(outcome)
        page.get_by_label("Text").fill(text)
        return reading.shown(), page.inner_text("#count")

    assert page.get_by_label("Type", exact=True).locator("option").all_inner_texts() == ["all", "fact", "number"]
    assert page.get_by_label("Outcome").locator("option").all_inner_texts() == ["all", "right", "wrong", "refused", "error"]
    assert filtered() == (["q1", "q2", "q3", "q4"], "4 of 4 shown")
    assert filtered(kind="fact") == (["q1", "q2"], "2 of 4 shown")
    assert filtered(kind="fact", outcome="wrong") == (["q2"], "1 of 4 shown")
    assert filtered(kind="number", outcome="right") == ([], "0 of 4 shown")
    assert filtered(outcome="error") == (["q4"], "1 of 4 shown")
    assert filtered(text="  BEACH   3 ") == (["q3"], "1 of 4 shown")
    assert filtered(text="timeouterror") == (["q4"], "1 of 4 shown")
    assert filtered(text=".*") == ([], "0 of 4 shown")
    assert filtered() == (["q1", "q2", "q3", "q4"], "4 of 4 shown")
    reading.close()


def test_expand_opens_only_what_is_shown_and_works_with_the_keyboard(browser: Any, tmp_path: Path) -> None:
    reading = Reading(browser, tmp_path, sample())
    page = reading.page

    def opened() -> Any:
        return page.locator("details.question[open]").evaluate_all("nodes => nodes.map(node => node.id)")

    page.focus("#type")
    page.keyboard.type("f")
    for key in ("Tab", "Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    assert (reading.shown(), opened()) == (["q1", "q2"], ["q1", "q2"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert opened() == []
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert opened() == ["q1"]
    reading.close()


def test_a_link_to_a_question_opens_it_even_if_filtered_out(browser: Any, tmp_path: Path) -> None:
    reading = Reading(browser, tmp_path, sample())
    reading.page.get_by_label("Outcome").select_option("right")
    reading.page.get_by_role("link", name="q-2").click()
    reading.page.wait_for_selector("#q2[open]")
    assert reading.page.inner_text("#count") == "4 of 4 shown"
    direct = Reading(browser, tmp_path, sample(), anchor="#q3")
    assert direct.page.locator("#q3[open]").count() == 1


def test_hostile_text_is_shown_literally_and_does_nothing(browser: Any, tmp_path: Path) -> None:
    reading = Reading(browser, tmp_path, hostile())
    page = reading.page
    page.click("#expand")
    page.locator("details:not([open]) > summary").evaluate_all("nodes => nodes.forEach(node => node.click())")
    assert page.title() == f"{WORD}, answered by {WORD}"
    texts = page.locator("bdi").all_text_contents()
    assert len([text for text in texts if WORD in text]) >= 40
    assert {text.replace(WORD, "") for text in texts if "hit=1" in text} <= {"", "!"}
    assert page.get_by_label("Type", exact=True).locator("option").all_text_contents() == ["all", *sorted([WORD, "fact"])]
    page.get_by_label("Type", exact=True).select_option(WORD)
    assert reading.shown() == ["q1"]
    assert page.locator("main :is(b, textarea, script, style, img[src=x])").count() == 0
    assert (
        page.locator("main *").evaluate_all("nodes => nodes.filter(node => [...node.attributes].some(({name}) => /^on|^style|autofocus/.test(name))).length")
        == 0
    )
    assert page.locator("a:not([href^='#']):not([href^='https:'])").count() == 0
    assert page.evaluate("window.hit") is None
    reading.close()


def test_direction_marks_turn_nothing_around_them(browser: Any, tmp_path: Path) -> None:
    reading = Reading(browser, tmp_path, {"questions": [question(1, "fact", "right", id="\u202eabc", question="\u202edef")]})
    lefts = reading.page.locator("#q1 summary bdi").evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().left)")
    assert lefts == sorted(lefts)
    reading.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_page_fits_plots_load_and_texts_stand_out(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    reading = Reading(browser, tmp_path, sample(), width=width, scheme=scheme)
    page = reading.page
    page.click("#expand")
    page.locator("details:not([open]) > summary").evaluate_all("nodes => nodes.forEach(node => node.click())")
    assert page.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth]") == [width, width]
    assert page.evaluate(FAINT) == [True, []]
    plots = page.locator("figure img").evaluate_all("nodes => nodes.map(node => [node.naturalWidth > 0, node.alt.length > 20, node.width >= 350])")
    assert plots == [[True, True, True]] * 4
    dark = page.locator("figure source").evaluate_all("nodes => nodes.map(node => node.nextSibling.currentSrc === node.srcset)")
    assert dark == [scheme == "dark"] * 4
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"}[scheme]
    reading.close()


def test_hostile_lengths_do_not_widen_the_page(browser: Any, tmp_path: Path) -> None:
    report = sample() | {"engine": "e" * 200, "set": {"name": "s" * 200}, "by_type": {"t" * 200: {"m" * 200: measure(0.5)}}}
    entry = question(1, "t" * 200, "wrong", question="q" * 500, text="x" * 500, sentences=[], faults=["f" * 500], retrieved=["r" * 500])
    reading = Reading(browser, tmp_path, report | {"questions": [entry], "errors": [{"id": "i" * 300, "error": "e" * 300}]}, width=390)
    reading.page.click("#expand")
    assert reading.page.evaluate("document.documentElement.scrollWidth") == 390
    reading.close()


def test_row_and_column_heads_stay_in_sight_in_a_scrolled_table(browser: Any, tmp_path: Path) -> None:
    report = sample() | {"metrics": {f"metric-{at}": measure(0.5) for at in range(60)}, "baselines": {f"engine-{at}": {"metrics": {}} for at in range(12)}}
    reading = Reading(browser, tmp_path, report, width=390)
    box = reading.page.locator(".scroll").first
    box.evaluate("node => node.scrollTo(400, 400)")
    places = box.evaluate(
        "node => [node.scrollLeft, node.scrollTop, ...[node.querySelector('thead th:nth-child(3)').getBoundingClientRect().top, "
        "node.querySelector('tbody tr:nth-child(20) th').getBoundingClientRect().left].map((at, i) => at - node.getBoundingClientRect()[['top', 'left'][i]])]"
    )
    assert places == [400, 400, 1, 1]
    reading.close()
