"""Whether a sentence turns its source round: denies what it affirms, says "reduces" for "increases", or compares the other way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from qa_bot.claims import plain
from qa_bot.selection import stems
from vectorstore.search import STOP_WORDS

_SCOPE = 3
"""Content words after a negation or around a direction that it is taken to be about."""

_NEGATORS = frozenset("not no never neither nor cannot without none nothing hardly barely rarely seldom unable lack lacks lacking non".split())
_NEGATING_PAIRS = frozenset({("rather", "than"), ("instead", "of"), ("absence", "of"), ("free", "of")})
_FAILS = frozenset("fail fails failed failing".split())
_MERELY = frozenset("only just merely necessarily".split())
_SCOPE_ENDS = frozenset(", ; : . ( ) ! ? but while whereas although though because".split())
_PREFIXES = ("un", "in", "im", "ir", "non", "dis")

_OPPOSITES = {
    "amount": (
        "increase rise raise grow growth boost amplify expand higher high more greater larger bigger gain improve improvement better enhance strengthen"
        " outperform surpass beat superior exceed best",
        "decrease reduce reduction lower low drop decline fall cut fewer less smaller diminish shrink lessen dampen worse worsen degrade hurt harm"
        " underperform inferior weaken impair deteriorate worst undermine",
    ),
    "speed": ("fast faster quick quicker accelerate", "slow slower"),
    "length": ("longer long", "shorter short"),
    "ease": ("easy easier easily", "hard harder difficult struggle"),
    "outcome": ("succeed successful", "fail failure struggle"),
    "effect": ("cause induce lead enable allow encourage facilitate", "prevent avoid block eliminate hinder discourage inhibit"),
    "strength": ("strong stronger", "weak weaker"),
    "order": ("before prior", "after later"),
    "likeness": ("same identical equivalent similar", "different distinct"),
    "sign": ("positive", "negative"),
    "presence": ("restore recover", "remove lose destroy"),
    "use": ("include add insert", "exclude remove"),
}
DIRECTIONS: dict[str, list[tuple[str, int]]] = {}
for _dimension, _both in _OPPOSITES.items():
    for _sign, _words in zip((1, -1), _both, strict=True):
        for _stem in stems(_words):
            DIRECTIONS.setdefault(_stem, []).append((_dimension, _sign))
_IDLE = stems(" ".join(STOP_WORDS))
_TELLING = frozenset("more most before after same".split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[,;:.()!?]")
_ORDER = re.compile(
    r"\b(?:(?:outperform|surpass|exceed|beat)(?:s|es|ed|en|ing)?(?P<passive> by)?|(?P<than>than|compared (?:with|to)|versus|relative to))\b", re.I
)


def negations(text: str) -> list[list[str]]:
    """For each negation, the stems of up to three content words that it is about, within its clause."""
    return [scope for _, scope in _negations(text)]


def _negations(text: str) -> Iterator[tuple[int, list[str]]]:
    words = [word.lower().replace("’", "'") for word in _WORD.findall(plain(text))]
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        if not (word in _NEGATORS or word.endswith("n't") or (word, after) in _NEGATING_PAIRS or (word in _FAILS and after == "to")) or after in _MERELY:
            continue
        scope: list[str] = []
        for following in words[at + 1 :]:
            if following in _SCOPE_ENDS or len(scope) == _SCOPE:
                break
            if following not in STOP_WORDS:
                scope += stems(following)
        yield at, scope


def contradicts(text: str, held: str) -> str:
    """Why ``text`` can't follow from ``held`` by its negations, directions or order; empty if nothing speaks against it."""
    return _negation_fault(text, held) or _prefix_fault(text, held) or _direction_fault(text, held) or _order_fault(text, held)


def _negation_fault(text: str, held: str) -> str:
    ours, theirs = negations(text), negations(held)
    negated, negated_there = {stem for scope in ours for stem in scope}, {stem for scope in theirs for stem in scope}
    there = stems(held)
    for scope in ours:
        if not set(scope) & negated_there if scope else not theirs:
            opposed = any(any(prefix + stem in there for prefix in _PREFIXES) for stem in scope)
            if not opposed:
                return "it denies what the source does not deny"
    said, affirmed, affirmed_here = stems(text), _outside(held, theirs), _outside(text, ours)
    if (negated - affirmed_here) & (affirmed - negated_there) and (negated_there - affirmed) & (affirmed_here - negated):
        return "it denies what the source affirms, and the other way round"
    for scope in theirs:
        about = [stem for stem in scope if stem not in affirmed]
        shared = [stem for stem in about if stem in said]
        if about and len(shared) >= min(2, len(about)) and not set(scope) & negated and not _denied_by_prefix(about, said):
            return "it affirms what the source denies"
    return ""


def _outside(held: str, scopes: list[list[str]]) -> set[str]:
    counts: dict[str, int] = {}
    for word in re.findall(r"[^\W_]+", plain(held).lower()):
        for stem in stems(word):
            counts[stem] = counts.get(stem, 0) + 1
    for scope in scopes:
        for stem in scope:
            counts[stem] = counts.get(stem, 0) - 1
    return {stem for stem, count in counts.items() if count > 0}


def _denied_by_prefix(about: list[str], said: Collection[str]) -> bool:
    return any(prefix + stem in said for stem in about for prefix in _PREFIXES)


def _prefix_fault(text: str, held: str) -> str:
    ours, theirs = stems(text), stems(held)
    denied_there = {stem for scope in negations(held) for stem in scope}
    denied = {stem for scope in negations(text) for stem in scope}
    for stem in ours - theirs:
        for prefix in _PREFIXES:
            bare = stem.removeprefix(prefix)
            if bare != stem and len(bare) > 4 and bare in theirs and bare not in denied_there:
                return f"it says {prefix}- where the source does not"
            if len(stem) > 4 and prefix + stem in theirs and stem not in denied:
                return f"it leaves out the {prefix}- of the source"
    return ""


def _direction_fault(text: str, held: str) -> str:
    there = list(_directions(held))
    for dimension, sign, scope in _directions(text):
        with_us = [_nearness(scope, other) for name, way, other in there if name == dimension and way == sign]
        against = [_nearness(scope, other) for name, way, other in there if name == dimension and way != sign]
        if max(against, default=0) > max(with_us, default=0):
            return "it turns a direction of the source round"
    return ""


def _directions(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Dimension and sign of each word of direction, with the stems around it, the next one first."""
    words = [word for word in re.findall(r"[^\W_]+", plain(text).lower()) if word not in STOP_WORDS or word in _TELLING]
    found = [next(iter(stems(word)), "") for word in words]
    for at, stem in enumerate(found):
        for dimension, sign in DIRECTIONS.get(stem, ()):
            after = [other for other in found[at + 1 :] if other not in DIRECTIONS][:_SCOPE]
            yield dimension, sign, after + [other for other in found[max(0, at - 2) : at] if other not in DIRECTIONS]


def _nearness(scope: list[str], other: list[str]) -> int:
    # what follows directly, as in "larger models", binds closest
    return len(set(scope) & set(other)) + _SCOPE * (scope[:1] == other[:1] != [])


def _order_fault(text: str, held: str) -> str:
    ours, theirs = _sides(text), _sides(held)
    if ours is None or theirs is None or ours[0] != theirs[0]:
        return ""
    (_, left, right), (_, their_left, their_right) = ours, theirs
    crossed = (left & (their_right - their_left), right & (their_left - their_right))
    straight = (left & (their_left - their_right), right & (their_right - their_left))
    turned = all(crossed) and (not straight[1] or sum(map(len, crossed)) > sum(map(len, straight)))
    return "it compares the other way round" if turned else ""


def _sides(text: str) -> tuple[str, frozenset[str], frozenset[str]] | None:
    found = _ORDER.search(plain(text))
    if found is None or (found["than"] and re.search(r"\brather $", plain(text)[: found.start()])):
        return None
    normal = plain(text)
    left, right = stems(normal[: found.start()]) - _IDLE, stems(normal[found.end() :]) - _IDLE
    if not left:
        return None
    if found["than"]:
        signs = {sign for dimension, sign, _ in _directions(normal[: found.start()][-80:]) if dimension == "amount"}
        return ("than" + str(sorted(signs)), left, right)
    return ("beats", right, left) if found["passive"] else ("beats", left, right)
