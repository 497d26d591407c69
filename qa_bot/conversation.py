"""The stand-alone question of a follow-up, by rules; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qa_bot.answer import Turn
from vectorstore.search import STOP_WORDS

_LEANS = re.compile(
    r"^(?:and|but|so|then|or|also|what about|how about|why\?*$|how so|really|any other|more)\b"
    r"|\b(?:it|its|they|them|their|theirs|this|that|these|those|he|she|his|her|there|the (?:second|first|third|last|other|same|former|latter)(?: (?:one|paper|two))?)\b"
    r"|\b(?:the|this|that) (?:paper|papers|authors?|method|approach|work|study|model|dataset|result|results|attack|attacker|framework)\b",
    re.I,
)
# "that" and "it" also occur in complete questions: "Is it possible that curation makes a model less aligned?"
_EMPTY_PRONOUN = re.compile(
    r"\b(?:is|was|would|can|could|does) it (?:possible|true|safe|clear|known|the case|matter|help|make sense|better|worth)\b"
    r"|\b(?!(?:does|do|did|is|was|are|can|could|would|will|of|in|for|with|to|and|about|on|by|is) that)\w+ that (?=(?:\w+ ){2})|\bthere (?:is|are|was|were)\b|\b(?:is|are|was|were) there\b",
    re.I,
)


def standalone_question(question: str, history: Sequence[Turn]) -> str:
    """``question`` with the words it leans on from the last user turns put in front, or unchanged if it stands by itself."""
    asked = [turn.content for turn in history if turn.role == "user" and turn.content.strip()]
    if not asked or not leans(question):
        return question
    anchor = next((earlier for earlier in reversed(asked) if not leans(earlier)), asked[0])
    between = asked[len(asked) - 1 - asked[::-1].index(anchor) + 1 :]
    return " ".join([anchor, *between[-1:], question])


def leans(question: str) -> bool:
    """Whether the question needs the conversation: a pronoun or opener that points back, or no word of its own."""
    own = [word for word in re.findall(r"[^\W_]+", question.lower()) if word not in STOP_WORDS]
    return not own or _LEANS.search(_EMPTY_PRONOUN.sub(" ", question.strip())) is not None
