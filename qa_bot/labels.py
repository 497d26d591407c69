"""From the pieces of text that a language model writes to finished sentences with the labels of their sources.

Models write labels in many ways, think aloud, and mark text up. What is left here is plain sentences, each with the numbers that it
names, counted from 1 as in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vectorstore.text import clean, sentence_spans

_THOUGHT = r"think(?:ing)?|thought|reason(?:ing)?|analysis|scratchpad|reflection"
_TAG = re.compile(rf"<\s*(?P<end>/)?\s*(?:{_THOUGHT})\s*>", re.I)
_PARTIAL_TAG = re.compile(r"<[\s/]*[a-z]{0,12}\s*$", re.I)

_NUMBERS = r"\d{1,3}(?:\s*(?:,|;|&|and|-|–|to)\s*(?:(?:and|sentences?|sources?|s|\^)\s*)?\[?\d{1,3}\]?)*"
_WORD = r"(?:sentences?|sources?|refs?\.?|citations?|s|no\.?|\^|#)"
_SQUARE = re.compile(rf"(?:\[|【)\s*(?:{_WORD}\s*)?(?P<numbers>{_NUMBERS})\s*(?:†[^\]】]*)?(?:\]|】)(?:\(https?://[^\s)]*\))?", re.I)
_ROUND = re.compile(rf"\(\s*{_WORD}\s*(?P<numbers>{_NUMBERS})\s*\)|\(\s*(?P<bare>{_NUMBERS})\s*\)(?=[\s.!?]*$)", re.I)
_LEADING = re.compile(rf"^\s*(?:(?:\[|【)\s*(?:{_WORD}\s*)?{_NUMBERS}[^\]】]*(?:\]|】)[\s,;]*)+", re.I)
_TRAILING = re.compile(rf"(?<=[.!?])\s*(?:(?:\[|【)\s*(?:{_WORD}\s*)?{_NUMBERS}[^\]】]*(?:\]|】)\s*)+$", re.I)
_PARTIAL_LABEL = re.compile(r"^[\s\[【(]*(?:[a-z]{0,9}[\s\d,;&^#-]*)?$", re.I)
_ATTRIBUTION = re.compile(
    r"(?:\b(?:according to|as (?:shown|stated|noted|described|reported) (?:in|by)|based on|per|see|in)\s+)(?:(?:sentences?|sources?|papers?|abstracts?)\s+)?(?=\[|【)",
    re.I,
)

_MARKER = re.compile(r"^\s*(?:[-*•+–]|\d{1,2}[.)])\s+|^\s*>\s*")
_UNREAD = re.compile(r"^\s*(?:#{1,6}\s.*|```.*|~~~.*|[-*_=|:\s]{3,}|\*\*[^*]{1,80}\*\*:?|(?:final\s+)?answer\s*:)\s*$", re.I)
_ANSWER = re.compile(r"^\s*(?:\*\*)?(?:final\s+)?answer\s*:(?:\*\*)?\s*", re.I)
_ENDS = re.compile(r"[.!?:。！？][\"”'’)\]】*_]*\s*$|[\]】]\s*$")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that a language model wrote, without labels or mark-up, and the numbers of the sources that it names."""

    text: str
    labels: tuple[int, ...] = ()


def claims(pieces: Iterable[str], count: int) -> Iterator[Claim]:
    """The sentences in ``pieces`` of a model's text, each as soon as it is finished.

    ``count`` is the number of sources that were shown; a bare "(7)" is a label only up to it.
    """
    pending = ""
    for text, restart, ended in _visible(pieces):
        pending = text if restart else pending + text
        sentences, pending = _finished(pending, ended)
        for sentence in sentences:
            if claim := _claim(sentence, count):
                yield claim


def _visible(pieces: Iterable[str]) -> Iterator[tuple[str, bool, bool]]:
    """Text outside of thoughts; whether what came before was a thought after all; whether it is the end."""
    held, inside = "", False
    for piece in pieces:
        held += piece
        while tag := _TAG.search(held):
            before, held = held[: tag.start()], held[tag.end() :]
            if tag["end"] and not inside:  # some templates open the thought in the prompt, so that only its end is written
                yield "", True, False
            elif not inside:
                yield before, False, False
            inside = not tag["end"]
        kept = len(held) if not (partial := _PARTIAL_TAG.search(held)) else partial.start()
        if not inside:
            yield held[:kept], False, False
        held = held[kept:]
    yield "" if inside else held, False, True


def _finished(pending: str, ended: bool) -> tuple[list[str], str]:
    """Finished sentences, and the rest, which more text may change."""
    blocks = _blocks(pending)
    if not blocks:
        return [], "" if ended else pending
    sentences = [sentence for block in (blocks if ended else blocks[:-1]) for sentence in _sentences(block)]
    if ended:
        return sentences, ""
    last = _sentences(blocks[-1])
    # the last one may go on, and the one before it may still get its label
    if len(last) > 1 and not _PARTIAL_LABEL.match(last[-1]) and re.search(r"\s", _LEADING.sub("", last[-1]).strip()):
        return sentences + last[:-1], last[-1] + pending[len(pending.rstrip()) :]
    return sentences, blocks[-1] + pending[len(pending.rstrip()) :] if sentences else pending


def _blocks(text: str) -> list[str]:
    """Paragraphs and list items, each as one line; headings and rules are no sentences."""
    blocks: list[str] = []
    joins = False
    for line in text.split("\n"):
        marked = _MARKER.match(line)
        if not line.strip() or _UNREAD.match(line):
            joins = False
            continue
        body = _ANSWER.sub("", _MARKER.sub("", line)).replace("|", " ").strip()
        if joins and not marked and not _ENDS.search(blocks[-1]):
            blocks[-1] += f" {body}"
        elif body:
            blocks.append(body)
        joins = True
    return blocks


def _sentences(block: str) -> list[str]:
    """Sentences with their labels, whether those stand before or after the full stop."""
    found: list[str] = []
    leads, carried = _LEADING.match(block) is not None, ""
    for start, end in sentence_spans(block):
        sentence = carried + block[start:end]
        carried = ""
        leading, trailing = _LEADING.match(sentence), _TRAILING.search(sentence)
        follows = block[end:].lstrip()[:1]
        if trailing and follows and (leads or follows.islower()):
            # "[1] A. [2] B." puts labels first, and in "A. [2] states that B." the label is a word
            sentence, carried = sentence[: trailing.start()], trailing[0].strip() + " "
        elif found and leading and not leads and not sentence[leading.end() :][:1].islower():
            found[-1] += f" {leading[0].strip()}"
            sentence = sentence[leading.end() :]
        elif found and re.fullmatch(r"[\s.\d()]*", sentence):
            found[-1] += f" {sentence}"
            continue
        if sentence.strip():
            found.append(sentence)
    return found


def _claim(sentence: str, count: int) -> Claim | None:
    labels: list[int] = []

    def take(match: re.Match[str]) -> str:
        numbers = _listed(match["numbers"] or match["bare"])
        if 0 in numbers or (match.re is _ROUND and max(numbers, default=0) > count):
            return match[0]  # an interval such as [0, 1], or a year
        labels.extend(numbers)
        return ""

    text = sentence
    if (leading := _LEADING.match(text)) and text[leading.end() :][:1].islower():
        text = leading[0] + "The paper " + text[leading.end() :]
    text = _ATTRIBUTION.sub("", text)
    text = _ROUND.sub(take, _SQUARE.sub(take, text))
    text = re.sub(r"\(\s*(?:see|cf\.?|e\.g\.,?)?\s*\)", "", clean(text))
    text = re.sub(r"\s+(?=[.,;:!?])|^[\s,;:.]+", "", text).strip()
    text = re.sub(r"([.!?])[\s.]+$", r"\1", text)
    if not re.search(r"[^\W_]", text) or text.endswith(":"):
        return None
    if text[-1].isalnum() or text[-1] in ")%]”\"'’":
        text += "" if re.search(r"[.!?][”\"'’)]$", text) else "."
    if text[0].islower() and text.split()[0].islower():
        text = text[0].upper() + text[1:]
    return Claim(text, tuple(dict.fromkeys(labels)))


def _listed(numbers: str) -> list[int]:
    found: list[int] = []
    for part in re.split(r"\s*(?:,|;|&|and)\s*", numbers):
        ends = [int(end) for end in re.findall(r"\d+", part)]
        found += range(ends[0], ends[1] + 1) if len(ends) == 2 and 0 < ends[1] - ends[0] <= 12 else ends
    return found
