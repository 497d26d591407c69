"""What kind of question this is, by rules; no model is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from qa_bot.answer import Route

Field = Literal["authors", "title", "venue", "url"]

_GREETING = re.compile(r"(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))(?: (?:there|all|everyone|bot|again))?", re.I)
_THANKS = re.compile(
    r"(?:(?:ok(?:ay)?|great|perfect|cool|nice|many|no),? )*(?:thanks?(?: you)?|thx|cheers|ta)(?: (?:a lot|a bunch|so much|very much|again|for .{1,40}))?|(?:good)?bye|see you",
    re.I,
)
_FIELDS: dict[Field, re.Pattern[str]] = {
    "authors": re.compile(
        r"\bwho (?:all )?(?:wrote|authored|published|made|are the (?:authors|people)|is the (?:first|last|lead|senior|corresponding) author|(?:is|are) behind)\b"
        r"|\b(?:authors?|author list) (?:of|for|behind)\b|\b(?:first|last|lead|senior) authors?\b|\b(?:by whom|whose (?:paper|work) is)\b"
        r"|\b(?:its|the|list(?: the)?|name(?: the)?) authors\W*$|\bwho (?:is|are) (?:its|the|their) authors?\b|\b(?:is|was) \S+ (?:written|authored) by\b",
        re.I,
    ),
    "title": re.compile(
        r"\b(?:exact|full|complete|precise) (?:title|name)\b|\btitle of\b|\bwhat(?:'s| is) the (?:title|name) of the paper\b|\bpaper called\b", re.I
    ),
    "venue": re.compile(
        r"\bwhere (?:was|is|were|did) .{0,120}\b(?:published|presented|accepted|appear)|\b(?:which|what) (?:venue|conference|year)\b.{0,80}\b(?:publish|appear|present|accept|from\b)|\bwhen (?:was|were) .{0,120}\bpublished\b",
        re.I,
    ),
    "url": re.compile(
        r"\b(?:openreview|paper) (?:link|url|page)\b|\blink to (?:the|that|this) paper\b|\bwhere can i (?:read|find) (?:the|that|this|it)(?: paper)?\W*$|\burl of the paper\b",
        re.I,
    ),
}
_TOPIC = re.compile(
    r"\b(?:papers|publications|articles)\b(?! (?:list|by|from)\b)"
    r"|\b(?:which|what|any|all|other|recent|related) works\b|\bworks (?:on|about|that|dealing|concerning)\b"
    r"|^(?:is there |are there )?(?:anything|something|what(?:'s| is) there|what do you have)\b.{0,20}\b(?:on|about)\b",
    re.I,
)
_COMPARISON = re.compile(
    r"\b(?:compare\b|comparing|comparison of|contrast|differs?\b|differences? between|versus|vs\.?|(?:two|both) (?:\w+ ){0,4}(?:papers|works|approaches|methods)"
    r"|(?:what|which|how) .{0,120}\b(?:in|of|for|does|did) each\b|take-?home message of each|which (?:work|paper|one)s? takes? which|as opposed to)",
    re.I,
)
# "What did the authors of CaliDist find?" asks what the paper says, not who wrote it
_AUTHORS_ACT = re.compile(
    r"\b(?:do|did|does|have|how|why|that|according to) (?:the )?(?:\S+ )?(?:authors?|they)\b|\bauthors? (?:\S+ ){0,4}(?:find|found|say|said|claim|show|argue|propose|report|explain|conclude|recommend|suggest|mean)\b",
    re.I,
)
_BY_AUTHOR = re.compile(r"\b(?:papers?|works?|publications?|articles?|authors?|wrote|written|authored|co-?authored|published|by)\b", re.I)
_WORD = re.compile(r"[^\W\d_][\w.'’-]*")


@dataclass(frozen=True, slots=True)
class Routed:
    """Kind of a question; for ``"metadata"`` the record fields that it asks for."""

    route: Route
    fields: tuple[Field, ...] = ()


def route(question: str) -> Routed:
    """Kind of ``question``; what is neither small talk nor of a special kind is a ``"question"``."""
    if not any(c.isalnum() for c in question):
        return Routed("blank")
    bare = re.sub(r"[\s!.,?)(:;~*'\"-]+$", "", question.strip())
    if _GREETING.fullmatch(bare):
        return Routed("greeting")
    if _THANKS.fullmatch(bare):
        return Routed("thanks")
    fields = tuple(name for name, pattern in _FIELDS.items() if pattern.search(question))
    if _AUTHORS_ACT.search(question):
        fields = tuple(name for name in fields if name != "authors")
    if fields:
        return Routed("metadata", fields)
    if _COMPARISON.search(question):
        return Routed("comparison")
    if _TOPIC.search(question):
        return Routed("topic")
    return Routed("question")


def asks_count(question: str) -> bool:
    """Whether the question wants a number of papers."""
    return re.search(r"\b(?:how many|number of|count)\b.{0,40}\b(?:papers|publications|articles|works)\b", question, re.I) is not None


def name_candidates(question: str) -> list[str]:
    """Runs of two to four words that may be a person's name, longest first, if the question speaks of authorship."""
    if not _BY_AUTHOR.search(question):
        return []
    words = [word.strip(".'’-") for word in _WORD.findall(question)]
    return [" ".join(words[at : at + size]) for size in (4, 3, 2) for at in range(len(words) - size + 1)]
