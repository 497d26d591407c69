from __future__ import annotations

from html.parser import HTMLParser

from conftest import paper

from qa_bot import page
from qa_bot.answer import Answer, cite

HOSTILE = "a <b and c> d <script>alert(1)</script> <img src=x onerror=alert(1)> $5 and $7 ~10% ~20% **x** snake_case <MASK>"


class Tags(HTMLParser):
    """Collects the tags, the text and the links of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.links: list[str | None] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name == "href"]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_what_a_user_typed_is_shown_literally() -> None:
    assert Tags(page.question_html(HOSTILE)).text == HOSTILE
    assert page.question_html("one\n\ntwo <b>") == "<div class='qa'>one<br><br>two &lt;b&gt;</div>"


def test_an_answer_shows_title_link_authors_and_the_marked_quotes() -> None:
    source = paper(title="On <MASK>", abstract=f"First & last. {HOSTILE}. Third.", url="https://example.org/?a='b'")
    sentences, citations = cite([source.passages[1]], {"p1": source})
    answer = Answer("q", "q", "question", "", False, 1.0, sentences, citations)
    html = page.answer_html(answer, {"p1": source})
    shown = Tags(html)
    assert "\n" not in html
    assert shown.tags == {"div", "p", "span", "ol", "li", "a", "details", "summary", "mark"}
    assert shown.links == ["https://example.org/?a='b'"]
    assert "“On <MASK>” [1]: " in shown.text
    assert "Ada Pebble, Bo Shell" in shown.text
    marked = html.split("<mark>")[1].split("</mark>")[0]
    assert Tags(marked).text == source.passages[1].text


def test_refusals_notices_and_rewritten_questions_are_told_apart() -> None:
    refusal = Answer("it?", "What is X? it?", "question", "No <answer>.", True, 0.1)
    assert page.answer_html(refusal, {}) == "<div class='qa qa-refused'><p>No &lt;answer&gt;.</p><p class='qa-note'>Searched: What is X? it?</p></div>"
    assert page.notice_html("a & b") == "<div class='qa qa-refused'><p>a &amp; b</p></div>"
    assert page.draft_html("one\n\ntwo") == "<div class='qa'><p>one</p><p>two</p></div>"
