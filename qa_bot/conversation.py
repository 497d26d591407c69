"""The stand-alone question of a follow-up, by rules; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from qa_bot.answer import Turn
from qa_bot.routing import route
from vectorstore.search import STOP_WORDS
from vectorstore.text import fold

Leaning = Literal["no", "maybe", "yes"]

_CARRIED_CHARS = 500
"""Most characters taken over from one earlier question."""

# words that ask about a paper without saying which one
_GENERIC = frozenset(
    """abstract answer approach ask attack author authors available baseline baselines bench benchmark benchmarks change code compare compared conference
    continue contribution contributions data dataset datasets detail details done effect elaborate evaluate evaluation example examples experiment experiments
    explain finding findings framework further github happen happens idea kind later limitation limitations link main matter mean means method methods
    metric model models name number numbers ok okay paper problem propose published question recommend related repo result results said score scores set
    setup short similar simple simpler study suggest summarise summarize summary sure table task tasks tell terms test tested title tried true type url
    venue website work wrote write written year yes""".split()
)
_OPENER = re.compile(r"^(?:and|but|so|then|or|also|ok(?:ay)?|yes|what about|how about|more|any other)\b[\s,]*", re.I)
_POINTS_BACK = re.compile(
    r"\b(?:this|that|these|those|the same|said) (?:paper|papers|authors?|method|approach|work|study|model|dataset|results?|attack|framework|one|ones|two)\b"
    r"|\bthe (?:second|first|third|last|other|former|latter) (?:one|ones|paper|two)\b|\bthe (?:second|first|third|last|former|latter)(?=\W*$|,)|\bthe other\b"
    r"|\bthis(?= (?:when|if|for|in|on|to|as|with)\b|\W*$)"
    r"|\b(?:with|about|of|for|from|to|by|in|on|than|like) (?:that|this|those|these)(?=\W*$|,)|^(?:why|how so|how come|really)\W*$"
    r"|^(?:\W*(?:and|but|so)\b)?\W*(?:does|do|did|is|was|would|can|could|will) (?:that|this|these|those)\b"
    r"|(?<!among )\b(?:the|its|their) (?:authors?|paper|attack|attacker|method|approach|study|framework|results?)(?=\W*$)"
    r"|\b(?:these|those) \w+\W*$",
    re.I,
)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|theirs|he|she|his|her)\b", re.I)
_WHOLE_CLAUSE = 4
_ORDINALS = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}
_ORDINAL = re.compile(
    rf"\bthe ({'|'.join(_ORDINALS)})(?: (?:one|paper|work|study|article|of (?:them|these|those)))?(?=\W*$|[,;:]| (?:reach|say|propose|use|find|show|do|does|is|was|have|has|about|when|in|on|for|and)\b)|\b(?:paper|number|no\.?|#) ?([1-9])\b",
    re.I,
)
_OTHER = re.compile(r"\b(?:the|any|an)other (?:one|paper|work|study)\b|\bthe other (?:one|paper|work|study)\b", re.I)
# "Is it possible that …": this "it" stands for what follows
_EMPTY_PRONOUN = re.compile(r"\b(?:is|was|would|can|could|does) it (?:possible|true|safe|clear|known|the case|make sense|better|worth)\b(?: that)?", re.I)


def stand_alone_questions(question: str, history: Sequence[Turn]) -> tuple[str, ...]:
    """What to search for: the question itself if it stands alone; else with the words it leans on in front; both, in this order, if unsure."""
    asked = [turn.content for turn in history if turn.role == "user" and route(turn.content).route not in ("blank", "greeting", "thanks")]
    leaning = leans(question)
    if not asked or leaning == "no":
        return (question,)
    anchor = next((at for at in reversed(range(len(asked))) if leans(asked[at]) == "no"), 0)
    between = asked[anchor + 1 :][-1:]
    combined = " ".join([*(earlier[:_CARRIED_CHARS] for earlier in [asked[anchor], *between]), question])
    return (question, combined) if leaning == "maybe" else (combined,)


def standalone_question(question: str, history: Sequence[Turn]) -> str:
    """The likeliest of :func:`stand_alone_questions` when no search can decide."""
    return stand_alone_questions(question, history)[-1]


def leans(question: str) -> Leaning:
    """Whether the question needs the conversation.

    ``"yes"``: it points back, or has no word of its own that names a subject, or its pronoun has nothing before it to stand
    for. ``"maybe"``: it only opens like a follow-up.
    """
    text = _EMPTY_PRONOUN.sub(" ", question.strip())
    opener = _OPENER.match(text)
    rest = text[opener.end() :] if opener else text
    points = _POINTS_BACK.search(text)
    # after a whole clause of the question's own a pointer means that: "spotting songs made by machines, how would that work?"
    if not _own(rest) or (points and len(_own(text[: points.start()].rpartition(",")[0])) < _WHOLE_CLAUSE):
        return "yes"
    pronoun = _PRONOUN.search(rest)
    if pronoun:
        before = _own(rest[: pronoun.start()])
        asks_of_it = re.search(r"\b(?:do|does|did|is|are|was|were|would|can|could|will|should)\s+$", rest[: pronoun.start()], re.I)
        if len(before) < (2 if asks_of_it else 1):
            return "yes"
    return "maybe" if opener else "no"


def paper_pointed_at(question: str, shown: Sequence[str]) -> tuple[str, str] | None:
    """Which of the papers ``shown``, in order, "the second one" or "paper 3" means, and the words that say so; None if none is meant."""
    found = _ORDINAL.search(question)
    if found is None or not shown:
        return None
    at = int(found[2]) - 1 if found[2] else _ORDINALS[found[1].lower()]
    return (shown[at], found[0]) if -len(shown) <= at < len(shown) and len(shown) > 1 else None


def asks_for_another(question: str) -> bool:
    """Whether a paper other than those shown is asked for, as in "the other paper that trains with GRPO"."""
    return _OTHER.search(question) is not None


def papers_shown(history: Sequence[Turn], titles: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of the papers in the last answer that shows any, in order: those it cited, or else those whose titles stand in its text.

    ``titles`` are the collection's titles by id. A title counts as soon as its part before a colon, of two words or more, is there.
    """
    for turn in reversed(history):
        if turn.role != "assistant":
            continue
        if turn.paper_ids:
            return turn.paper_ids
        text = f" {fold(turn.content)} "
        places = {}
        for paper, title in titles.items():
            whole = fold(title)
            short = whole.split(":")[0].strip()
            at = text.find(whole)
            if at < 0 and (len(short.split()) > 1 or ":" in whole):
                at = text.find(short)
            if at > 0 and not text[at - 1].isalnum():
                places[paper] = at
        if places:
            return tuple(sorted(places, key=lambda paper: (places[paper], -len(titles[paper]))))
    return ()


def _own(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if len(word) > 1 and word not in STOP_WORDS and word not in _GENERIC]
