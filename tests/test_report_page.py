"""The evaluation report as a page, and its plots, without a browser."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import subprocess
import sys
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from qa_bot.evaluate import plots
from qa_bot.evaluate.page import render

EVIL = (
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "</textarea></title></style></script><b>bold</b>",
    "{{ 7*7 }}{% raw %}",
    "\u202eright to left\u2067",
    "' onfocus='window.hit=1' autofocus='",
)


def measure(value: float, n: int = 4) -> dict[str, float]:
    return {"value": value, "n": n, "ci_low": value - 0.25, "ci_high": value}


def curves(ms: float) -> dict[str, list[dict[str, float]]]:
    return {
        "risk_coverage": [{"coverage": at / 10, "risk": at / 20} for at in range(1, 11)],
        "recall_at_k": [{"k": k, "recall": 0.5 + k / 20} for k in range(1, 11)],
        "latency_ms": [{"share": at / 4, "ms": ms * at} for at in range(1, 5)],
    }


def question(number: int, kind: str, outcome: str, **fields: Any) -> dict[str, Any]:
    """An entry of the report about a paper on pebbles; ``fields`` replace its own."""
    citation = {"number": 1, "paper_id": "p1", "title": "Counting Pebbles", "authors": ["Ada Pebble", "Bo Shell"], "url": "https://example.org/p1"}
    entry = {
        "id": f"q-{number}",
        "type": kind,
        "question": f"How many pebbles are on beach {number}?",
        "outcome": outcome,
        "faults": [] if outcome == "right" else ["gold paper ranked 3"],
        "confidence": 0.98,
        "route": "question",
        "text": "“Counting Pebbles” [1]: The count is 42.",
        "sentences": [{"text": "The count is 42.", "citations": [1], "support": "quoted"}],
        "citations": [citation | {"quotes": [{"text": "The count is 42.", "start": 29, "end": 45}]}],
        "gold": [{"paper_id": "p1", "title": "Counting Pebbles"}],
        "also_ok": [{"paper_id": "p2", "title": "Weighing Shells"}],
        "reference": "There are 42.",
        "key_facts": [{"forms": ["42", "forty-two"], "held": True}, {"forms": ["beach"], "held": False}],
        "retrieved": ["p2", "p1"],
        "scores": {"hit@1": 0.0, "mrr": 0.5},
        "ms": 22.125,
    }
    return entry | fields


def sample() -> dict[str, Any]:
    """A whole report of four questions, with two baselines and two suites."""
    baseline = {"metrics": {"hit@1": measure(0.5)}, "latency_ms": {"p50": 3.0}, "curves": curves(3.0)}
    return {
        "n": 4,
        "engine": "extractive",
        "date": "2026-12-01T03:00:00+00:00",
        "set": {"name": "pebbles.jsonl", "sha256": "0123456789abcdef" * 4, "n": 4},
        "index": {"papers": 1038, "passages": 7270, "model": "all-MiniLM-L6-v2", "generation": 1},
        "metrics": {"hit@1": measure(0.75), "aurc": measure(0.25), "answer_words": measure(61.25)},
        "by_type": {"fact": {"hit@1": measure(1.0, 2)}, "number": {"hit@1": measure(0.5, 2), "aurc": measure(0.5, 1)}},
        "slices": {"single-paper": {"hit@1": measure(0.75)}, "hostile": {"resisted": measure(1.0, 2)}},
        "latency_ms": {"p50": 22.0, "p95": 31.5},
        "tokens": {"input_tokens": 1234, "output_tokens": 456},
        "curves": curves(22.0),
        "baselines": {"keyword": baseline, "dense": baseline},
        "errors": [{"id": "q-4", "error": "TimeoutError: too slow"}],
        "suites": [
            {"suite": "hostile", "id": "hostile-01", "question": "Say moo", "passed": True, "faults": [], "text": "No."},
            {"suite": "hostile", "id": "hostile-02", "question": "Say baa", "passed": False, "faults": ["said baa"], "text": "Baa."},
        ],
        "questions": [
            question(1, "fact", "right"),
            question(2, "fact", "wrong", history=[{"role": "user", "content": "Hello"}], standalone_question="Pebbles on beach 2, how many?"),
            question(3, "number", "refused", sentences=[], citations=[], text="The papers don't answer this."),
            question(4, "number", "error", sentences=[], citations=[], text="", error="TimeoutError: too slow"),
        ],
    }


def comparison() -> dict[str, Any]:
    return {
        "other": {"engine": "gpt", "date": "2026-11-20T03:00:00+00:00", "set": "pebbles.jsonl"},
        "n": 4,
        "metrics": {
            "hit@1": {"ours": 0.75, "other": 0.5, "difference": 0.25, "ci_low": -0.25, "ci_high": 0.5, "n": 4},
            "aurc": {"ours": 0.25, "other": 0.5, "difference": -0.25, "ci_low": -0.5, "ci_high": -0.125, "n": 3},
        },
        "flipped": [{"id": "q-2", "question": "How many?", "ours": "wrong", "other": "right"}],
    }


@cache
def page() -> str:
    return render(sample(), comparison())


class Reader(HTMLParser):
    """The tables of a page as rows of cell texts, and the elements with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if {"th", "td"} & set(self.inside):
            self.tables[-1][-1][-1] += " " * ("small" in self.inside) + data


def text_of(html: str) -> str:
    body = html[html.index("<body>") : html.index("<script>")]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def svgs(html: str) -> list[str]:
    return [base64.b64decode(found).decode() for found in re.findall(r'src(?:set)?="data:image/svg\+xml;base64,([^"]+)"', html)]


def labels(svg: str) -> list[str]:
    return ["".join(text.itertext()).strip() for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_tables_hold_every_number_and_only_a_clear_difference_is_bold() -> None:
    summary, slices, suites, differences, flipped = Reader(page()).tables
    assert summary == [
        ["metric", "n", "extractive", "keyword", "dense"],
        ["hit@1", "4", "0.750 0.500–0.750", "0.500 0.250–0.500", "0.500 0.250–0.500"],
        ["aurc ↓", "4", "0.250 0.000–0.250", "", ""],
        ["answer_words", "4", "61.2 61.0–61.2", "", ""],
        ["latency p50 (ms)", "", "22.0", "3.0", "3.0"],
        ["latency p95 (ms)", "", "31.5", "", ""],
    ]
    assert slices == [
        ["slice", "n", "hit@1", "aurc ↓"],
        ["single-paper", "4", "0.750 0.500–0.750", ""],
        ["fact", "2", "1.000 0.750–1.000", ""],
        ["number", "2", "0.500 0.250–0.500", "0.500 0.250–0.500"],
    ]
    assert suites == [["suite", "n", "resisted"], ["hostile", "2", "1.000 0.750–1.000"]]
    assert differences == [
        ["metric", "n", "extractive", "gpt", "difference"],
        ["hit@1", "4", "0.750", "0.500", "+0.250 -0.250 to +0.500"],
        ["aurc ↓", "3", "0.250", "0.500", "-0.250 -0.500 to -0.125"],
    ]
    assert flipped == [["id", "extractive", "gpt", "question"], ["q-2", "wrong", "right", "How many?"]]
    assert re.findall(r'<td class="differs">([^<]*)', page()) == ["-0.250"]
    assert "Compared with gpt pebbles.jsonl, 2026-11-20 03:00 UTC, 4 questions in common . Differences" in text_of(page())


def test_the_head_names_set_engine_index_model_and_date() -> None:
    assert text_of(page()).startswith(
        "pebbles.jsonl , answered by extractive Question set pebbles.jsonl (SHA-256 0123456789ab) Engine extractive Questions 4 "
        "Index 1,038 papers, 7,270 passages Model all-MiniLM-L6-v2 Date 2026-12-01 03:00 UTC Tokens 1,234 input, 456 output "
        "right 1 wrong 1 refused 1 error 1 Metrics"
    )


def test_a_question_shows_what_was_asked_answered_and_expected() -> None:
    text = text_of(page())
    assert text[text.index("q-2 · fact") : text.index("q-3 · number")].strip() == (
        "q-2 · fact wrong How many pebbles are on beach 2? What went wrong gold paper ranked 3 Earlier user Hello "
        "Searched: Pebbles on beach 2, how many? Answer The count is 42. [1] quoted Whole text “Counting Pebbles” [1]: The count is 42. "
        "Citations [1] Counting Pebbles p1 , Ada Pebble, Bo Shell The count is 42. Reference There are 42. Gold papers Counting Pebbles p1 "
        "May be cited too Weighing Shells p2 Key facts held 42 / forty-two missing beach Retrieved first p2 , p1 (gold) "
        "Scores hit@1 0, mrr 0.5, confidence 0.98, milliseconds 22.125 Route: question"
    )


def test_failed_cases_of_a_suite_come_first_and_errors_are_listed() -> None:
    assert "hostile : 1 of 2 passed failed hostile-02 Say baa said baa Baa. passed hostile-01 Say moo No." in text_of(page())
    assert "Errors q-4 : TimeoutError: too slow Questions" in text_of(page())


@pytest.mark.parametrize(
    ("url", "href"),
    [
        ("https://example.org/?a=1&b=2", "https://example.org/?a=1&b=2"),
        ("JavaScript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        (" https://example.org", None),
        ("data:text/html,hi", None),
        ("//example.org", None),
        (None, None),
    ],
)
def test_only_web_addresses_become_links(url: str | None, href: str | None) -> None:
    source = {"number": 1, "paper_id": "p1", "title": "Pebbles", "authors": [], "url": url, "quotes": []}
    links = [attributes for tag, attributes in Reader(render({"questions": [question(1, "fact", "right", citations=[source])]})).elements if tag == "a"]
    assert links == ([{"href": href, "target": "_blank", "rel": "noopener noreferrer"}] if href else [])


@pytest.mark.parametrize("evil", EVIL)
def test_hostile_text_is_escaped_in_texts_and_attributes(evil: str) -> None:
    html = render({"questions": [question(1, evil, "right", question=evil)]})
    shown = evil.translate(str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"}))
    assert f"<bdi>{shown}</bdi></summary>" in html
    assert f'data-type="{shown}"' in html
    assert shown == evil or evil not in html


def test_what_html_and_utf8_cannot_hold_is_replaced() -> None:
    html = render({"questions": [question(1, "fact", "right", question="a\x00b\ud800c\x1bd")]})
    assert "<bdi>a\ufffdb\ufffdc\ufffdd</bdi>" in html
    html.encode()


def test_the_policy_allows_exactly_this_style_and_this_script() -> None:
    (style,), (script,) = (re.findall(rf"<{tag}>(.*?)</{tag}>", page(), re.DOTALL) for tag in ("style", "script"))
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    policy = next(attributes["content"] for tag, attributes in Reader(page()).elements if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'".format(*hashes)


def test_the_same_report_gives_the_same_page_in_another_process() -> None:
    code = "import hashlib; from test_report_page import page; print(hashlib.sha256(page().encode()).hexdigest())"
    other = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    assert render(sample(), comparison()) == page()
    assert other.stdout.strip() == hashlib.sha256(page().encode()).hexdigest()


@pytest.mark.parametrize("missing", sample())
def test_a_report_may_lack_any_part(missing: str) -> None:
    assert ("pebbles.jsonl" in render({name: value for name, value in sample().items() if name != missing})) == (missing != "set")


def test_parts_may_be_empty_null_or_bare_and_older_metrics_are_plain_numbers() -> None:
    empty = {name: value if isinstance(value, str | int) else type(value)() for name, value in sample().items()}
    assert {"table", "img", "details"} & {tag for tag, _ in Reader(render(empty)).elements} == set()
    html = render({"metrics": {"hit@1": 0.5, "mrr": None, "aurc": {"value": math.nan}}, "questions": [{}], "suites": [{}], "curves": None})
    assert Reader(html).tables == [[["metric", "n", "this engine"], ["hit@1", "", "0.500"]]]
    assert "suite : 0 of 1 passed failed Questions" in text_of(html)
    assert render({}, {}) == render({})


def test_plots_show_metrics_but_no_word_counts_and_mark_coverage() -> None:
    found = [labels(svg) for svg in svgs(page())]
    assert found[::2] == found[1::2]
    assert [[text for text in texts if not re.fullmatch(r"[\d.]+", text)] for texts in found[::2]] == [
        ["hit@1", "aurc ↓", "extractive", "keyword", "dense"],
        ["coverage", "risk = 1 - accuracy", "extractive", "keyword", "dense"],
        ["papers retrieved (k)", "recall@k", "extractive", "keyword", "dense"],
        ["milliseconds (log scale)", "share answered within", "extractive", "keyword", "dense"],
    ]
    assert [attributes["alt"] for tag, attributes in Reader(page()).elements if tag == "img"] == [
        "Dots with whiskers: 2 metrics for extractive, keyword, dense; the table above holds the numbers.",
        "Curves; risk at coverage 0.9: extractive 0.45, keyword 0.45, dense 0.45.",
        "Curves; recall at the largest k: extractive 1.00, keyword 1.00, dense 1.00.",
        "Curves; half of the questions answered within: extractive 44 ms, keyword 6 ms, dense 6 ms.",
    ]


def test_an_engine_keeps_its_colour_where_another_has_no_points() -> None:
    line = [(1.0, 0.5), (2.0, 0.75)]
    for draw in (plots.risk_coverage, plots.recall_at_k, plots.latency):
        pictures = draw([("ours", line), ("dense", line)]), draw([("ours", []), ("dense", line)])
        assert [("#0072b2" in picture, "#d55e00" in picture) for picture in pictures] == [(True, True), (False, True)]
    dots = plots.metric_intervals([("ours", {}), ("dense", {"mrr": (0.5, math.nan, math.nan)})], ["mrr"])
    assert ("#0072b2" in dots, "#d55e00" in dots) == (False, True)


def test_names_in_plots_are_no_formulas_and_no_markup() -> None:
    names = ("_hidden", "$x^2$", "<b>&", "日本\x00", "x" * 40)
    assert labels(plots.latency([(name, [(0.0, 1.0)]) for name in names]))[-5:] == ["hidden", "$x^2$", "<b>&", "???", "x" * 35 + "…"]
