"""Answers and questions as HTML for the web chat. Every text from papers, users and models is escaped here, and only here."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from qa_bot.answer import Answer, Citation, Sentence, pieces
from vectorstore import Paper

STYLE = """
.qa p { margin: 0 0 .5em } .qa-refused { border-inline-start: 3px solid var(--border-color-accent, #888); padding-inline-start: .7em }
.qa-lead { font-weight: 600 } .qa-sources { margin: .8em 0 0; padding: .6em 0 0; border-top: 1px solid var(--border-color-primary, #ccc); font-size: .92em }
.qa-sources ol { margin: 0; padding-inline-start: 1.6em } .qa-sources li { margin: .35em 0 } .qa-authors { opacity: .8 }
.qa mark { background: #ffe58a; color: #222; padding: 0 .1em; border-radius: 2px } .qa summary { cursor: pointer } .qa-note { opacity: .75; font-size: .92em }
footer { display: none !important }
"""


def question_html(question: str) -> str:
    """What a user typed, literally, with its line breaks."""
    return _block("qa", "<br>".join(escape(line) for line in question.strip().splitlines()))


def notice_html(text: str) -> str:
    """A line of the program's own, such as an error."""
    return _block("qa qa-refused", f"<p>{escape(text)}</p>")


def draft_html(text: str) -> str:
    """Part of an answer while it is written."""
    return _block("qa", "".join(f"<p>{escape(part)}</p>" for part in text.split("\n") if part.strip()))


def answer_html(answer: Answer, papers: Mapping[str, Paper]) -> str:
    """The whole answer with its sources; ``papers`` are the cited ones, by id."""
    if not answer.sentences:
        return _block("qa qa-refused" if answer.abstained else "qa", f"<p>{escape(answer.text)}</p>" + _searched(answer))
    before, _, after = answer.text.partition("".join(pieces(answer.sentences, answer.citations)))
    body = _note(before) + "".join(_paragraphs(answer)) + _note(after) + _searched(answer)
    sources = "".join(_source(source, papers.get(source.paper_id)) for source in answer.citations)
    return _block("qa", f"{body}<div class='qa-sources'><ol>{sources}</ol></div>")


def _paragraphs(answer: Answer) -> list[str]:
    titles = {source.number: source.title for source in answer.citations}
    paragraphs: list[str] = []
    group: list[Sentence] = []
    for sentence in [*answer.sentences, None]:
        if group and (sentence is None or sentence.support != "quoted" or sentence.citations != group[0].citations):
            number = group[0].citations[0]
            text = " ".join(escape(quoted.text) for quoted in group)
            paragraphs.append(f"<p><span class='qa-lead'>“{escape(titles[number])}”</span> [{number}]: {text}</p>")
            group = []
        if sentence is not None and sentence.support == "quoted":
            group.append(sentence)
        elif sentence is not None:
            marks = "".join(f" [{number}]" for number in sentence.citations)
            paragraphs.append(f"<p>{escape(sentence.text)}{marks}</p>")
    return paragraphs


def _source(source: Citation, paper: Paper | None) -> str:
    title = escape(source.title)
    if source.url:
        title = f"<a href='{escape(source.url)}' target='_blank' rel='noopener noreferrer'>{title}</a>"
    authors = f"<div class='qa-authors'>{escape(', '.join(source.authors))}</div>" if source.authors else ""
    quotes = ""
    if source.quotes and paper is not None:
        noun = "sentence" if len(source.quotes) == 1 else "sentences"
        quotes = f"<details><summary>{len(source.quotes)} quoted {noun} in the abstract</summary><p>{_marked(source, paper.abstract)}</p></details>"
    return f"<li value='{source.number}'>{title}{authors}{quotes}</li>"


def _marked(source: Citation, abstract: str) -> str:
    parts, end = [], 0
    for quote in sorted(source.quotes, key=lambda quote: quote.start):
        parts += [escape(abstract[end : quote.start]), f"<mark>{escape(abstract[quote.start : quote.end])}</mark>"]
        end = quote.end
    return "".join([*parts, escape(abstract[end:])])


def _note(text: str) -> str:
    return "".join(f"<p class='qa-note'>{escape(line)}</p>" for line in text.split("\n") if line.strip())


def _searched(answer: Answer) -> str:
    if answer.standalone_question == answer.question:
        return ""
    return f"<p class='qa-note'>Searched: {escape(answer.standalone_question)}</p>"


def _block(classes: str, inner: str) -> str:
    # one line: a blank line would end the HTML block, and Markdown would be read in what follows
    return f"<div class='{classes}'>{' '.join(inner.split())}</div>"
