"""What kind of question this is, by rules; no model is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from qa_bot.answer import Route

Field = Literal["authors", "title", "venue", "url"]

_GREETING = re.compile(r"(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))(?: (?:there|all|everyone|bot|again))?", re.I)
_THANKS = re.compile(
    r"(?:(?:ok(?:ay)?|great|perfect|cool|nice|many|no),? )*(?:thanks?(?: you)?|thx|cheers|ta)(?: (?:a lot|a bunch|so much|very much|again|for [^?.,;!]{1,40}))?|(?:good)?bye|see you|ok(?:ay)?|great|perfect|cool|nice|got it",
    re.I,
)
_FIELDS: dict[Field, re.Pattern[str]] = {
    "authors": re.compile(
        r"\bwho (?:all )?(?:wrote|authored|are the (?:authors|people)|is the (?:first|last|lead|senior|corresponding) author|(?:is|are) behind)\b"
        r"|^(?:and )?(?:the |list (?:the )?|name (?:the )?|give (?:me )?(?:the )?)?authors?(?: list)?(?: of\b| for\b|\W*$)|\b(?:its|their|whose) authors?\W*$"
        r"|\bwho (?:is|are) (?:its|the|their) authors?\b|\b(?:is|was) \S+ (?:written|authored) by whom\b|\bby whom (?:is|was)\b|^\S+(?: paper)? authors\W*$"
        r"|\bwho is the first and who is the last author\b|\bhow many authors does\b",
        re.I,
    ),
    "title": re.compile(
        r"\b(?:exact|full|complete|precise) title\b|\btitle of the (?:paper|work)\b|\bwhat(?:'s| is) (?:the|its) (?:title|name of the paper)\b|^(?:the )?title\W*$",
        re.I,
    ),
    "venue": re.compile(
        r"\bwhere (?:was|is|were) (?!the \S+ (?:presented|published) in)(?:[^,?]{1,120} )?(?:published|accepted|to appear)\b"
        r"|\b(?:which|what) (?:venue|conference)\b|^(?:which |what )?(?:venue|conference|year)\W*$|\bwhen (?:was|were) (?:it|(?:the|this|that) [^,?]{0,80}paper|\S+) published\b",
        re.I,
    ),
    "url": re.compile(
        r"\bopenreview\b|\b(?:link|url|address) (?:to|of|for) (?:the |that |this )?(?:\S+ ){0,6}?paper\b|\bpaper (?:link|url)\b"
        r"|\bwhere can i (?:read|find) (?:it|(?:the|that|this) (?:\S+ ){0,4}?paper|the full (?:text|paper))\W*$|\b(?:its|the) (?:link|url)\W*$|^(?:give me the |the )?(?:link|url)\W*$",
        re.I,
    ),
}
_TOPIC = re.compile(
    r"\b(?:papers|publications)\b(?! (?:list|by|from)\b)|\b(?:which|any|how many|all|list) (?:of the )?articles\b"
    r"|\b(?:which|any|all|other|recent|related) works (?!better|best|well)|^works (?:on|about|dealing|concerning)\b"
    r"|\blist them\b|\bcollecting (?:recent )?(?:work|papers|references)\b|\bgive me the papers\b|\bwhat(?:'s| is) (?:there\W*$|new (?:on|in|about)\b)"
    r"|^(?:is there |are there )?(?:anything|something|what(?:'s| is) there|what do you have)\b.{0,20}\b(?:on|about)\b",
    re.I,
)
_COMPARISON = re.compile(
    r"\b(?:compare\b|comparing|comparison of|contrast(?:s|ed|ing)?\b|differs?\b|differences? between|versus|vs\.?|(?:two|both) (?:\w+ ){0,4}(?:papers|works|approaches|methods)"
    r"|(?:what|which|how) .{0,120}\b(?:in|of|for|does|did) each\W*$|take-?home message of each|which (?:work|paper|one)s? takes? which|as opposed to)",
    re.I,
)
_ASKS = re.compile(
    r"^\W*(?:what|which|who|whose|how|why|when|where|is|are|was|were|does|do|did|can|could|would|should|will|has|have|had|so|and|but|explain|describe|tell|name|give|i|if|suppose|given|according|in|for|on|at)\b"
    r"|\b(?:is|are|was|were|does|do|did|can|could|would|will|should|has|have) (?:it|they|this|that|these|there|the|a|an|we|i|you|one)\b|n['’]t\b"
    r"|\bwhat\b|[:;,.?!(-] *(?:[\w/'’]+ ){0,2}(?:which|who|whose|does|do|is|are|any)\b"
    r"|\b(?:how|why|number|size|average|rate|speed-?up|accuracy|score|gain|improvement|explanation|trick|link|url|code|github|benchmark|authors?|title|wrote)\b",
    re.I,
)
_BY_AUTHOR = re.compile(r"\b(?:papers?|works?|publications?|articles?|authors?|wrote|write|written|authored|co-?authored|published|by)\b|['’]s\b", re.I)
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
    if fields := tuple(name for name, pattern in _FIELDS.items() if pattern.search(question)):
        return Routed("metadata", fields)
    if _COMPARISON.search(question):
        return Routed("comparison")
    if _TOPIC.search(question):
        return Routed("topic")
    return Routed("question")


def names_a_subject(question: str) -> bool:
    """Whether the question is a subject rather than a sentence, as in "clustering multi-view data when some views are missing"."""
    return _ASKS.search(question) is None and len(question.split()) > 1


def asks_count(question: str) -> bool:
    """Whether the question wants a number of papers."""
    return re.search(r"\b(?:how many|number of|count)\b.{0,40}\b(?:papers|publications|articles|works)\b", question, re.I) is not None


def name_candidates(question: str) -> list[tuple[int, int, str]]:
    """Runs of two to four words that may be a person's name, longest first, if the question speaks of authorship.

    Each is ``(start, end, name)`` with its place in ``question``; a possessive "'s" is left off.
    """
    if not _BY_AUTHOR.search(question):
        return []
    words = [(match.start(), match.end(), re.sub(r"['’]s$", "", match[0])) for match in _WORD.finditer(question)]
    runs = [words[at : at + size] for size in (4, 3, 2) for at in range(len(words) - size + 1)]
    return [(run[0][0], run[-1][1], " ".join(word for _, _, word in run)) for run in runs]
