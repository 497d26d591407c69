"""What a sentence claims that can be compared word by word: numbers, names, links and strong words.

Everything here is lexical and leans to the strict side: a true sentence that is lost costs a quotation in its place, a false one
that is kept costs trust.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qa_bot.selection import stems
from vectorstore.search import STOP_WORDS
from vectorstore.text import fold, search_text

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_IN_WORDS = {word: value for value, word in enumerate(_UNITS) if word != "one"} | _TENS  # "one" is a pronoun more often than a count
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9, "trillion": 1e12, "hundred": 1e2}
_MULTIPLES = {
    "half": (50.0, "%"),
    "halv": (50.0, "%"),
    "twice": (2.0, "x"),
    "double": (2.0, "x"),
    "triple": (3.0, "x"),
    "thrice": (3.0, "x"),
    "dozen": (12.0, ""),
}
_RAISED = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]+")
_NUMBER = re.compile(
    rf"(?:(?P<digits>\d+(?:,\d{{3}})*(?:\.\d+)?|(?<![\w.])\.\d+)(?:\s*[×x*·]\s*10\^\(?(?P<power>-?\d+)\)?)?|\b(?P<word>{'|'.join(_IN_WORDS)})\b)"
    r"(?P<scale>\s*(?:hundred|thousand|million|billion|trillion)\b|[kKMB](?![A-Za-z]))?"
    r"(?P<unit>\s?%|[\s-]?per\s?cent\b|[\s-]?percentage\b|\s?[×x](?!\w)|[\s-]?(?:times|fold)\b)?"
    r"|\b(?P<multiple>half|halv(?:e[ds]?|ing)|twice|double[sd]?|triple[sd]?|thrice|dozens?)\b",
    re.I,
)
_LINK = re.compile(r"https?://\S+|www\.\S+|\b[\w-]+(?:\.[\w-]+)*\.(?:ai|com|de|dev|edu|io|net|org|science)\b(?:/\S*)?", re.I)
_TOKEN = re.compile(r"[^\W_]+(?:[-.'’+][^\W_]+)*")

_STRONG = tuple(
    stems(group)
    for group in (
        "all every each always entire entirely completely fully universally consistently whole everything",
        "only solely exclusively merely just sole",
        "first pioneer",
        "best sota art superior outperform surpass top highest optimal",
        "guarantee prove provably ensure theorem certify",
        "significantly substantially dramatically drastically vastly considerably remarkably massively largely strongly far severe",
        "perfectly flawlessly exactly",
    )
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its unit: ``"%"``, ``"x"`` for a multiple, or ``""``."""

    value: float
    unit: str


def numbers(text: str) -> list[tuple[Number, int, int]]:
    """The numbers in ``text`` with their spans in :func:`plain` text, in digits or in words.

    ``6.0×10^4``, ``60,000`` and ``60k`` are the same number, and so are ``2.5x`` and ``2.5 times``, ``half`` and ``50%``.
    """
    found: list[tuple[Number, int, int]] = []
    normal = plain(text)
    for match in _NUMBER.finditer(normal):
        if match["multiple"]:
            word = next(name for name in _MULTIPLES if match["multiple"].lower().startswith(name))
            number = Number(*_MULTIPLES[word])
        else:
            value = float(match["digits"].replace(",", "")) if match["digits"] else float(_IN_WORDS[match["word"].lower()])
            value *= 10.0 ** int(match["power"] or 0) * _SCALES.get((match["scale"] or "").strip().lower(), 1.0)
            unit = (match["unit"] or "").strip(" -").lower()
            number = Number(value, "%" if unit[:3] == "per" or unit == "%" else "x" if unit else "")
        if found and number.unit and not found[-1][0].unit and re.fullmatch(r"\s?(?:-|to|and|or)\s?", normal[found[-1][2] : match.start()]):
            found[-1] = (Number(found[-1][0].value, number.unit), *found[-1][1:])  # "3-5×": the unit is said once
        found.append((number, match.start(), match.end()))
    return found


def plain(text: str) -> str:
    """``text`` with compatibility forms, raised digits and dashes in one spelling."""
    return search_text(_RAISED.sub(lambda match: "^" + unicodedata.normalize("NFKC", match[0]), text))


def unnumbered(text: str) -> str:
    """:func:`plain` text without its numbers and their units."""
    return _NUMBER.sub(" ", plain(text))


def unlinked(text: str) -> str:
    """``text`` with underscores for its links, every other character in place."""
    return _LINK.sub(lambda match: "_" * len(match[0]), text)


def misplaced_numbers(text: str, held: str) -> str:
    """Why numbers of ``held`` stand in each other's place in ``text``; empty if they don't, or if it can't be told."""
    ours, theirs = _placed(text), _placed(held)
    if any((b, a) in _from_to(held) and (a, b) not in _from_to(held) for a, b in _from_to(text)):
        return "its numbers stand the other way round"
    both = [number for number in ours if number in theirs]
    if len(both) < 2:
        return ""
    verdicts = [_assigned(both, ours, theirs, side, side_there) for side in (0, 1) for side_there in (0, 1)]
    return "its numbers belong to something else in the source" if "wrong" in verdicts and "right" not in verdicts else ""


def _from_to(text: str) -> set[tuple[Number, Number]]:
    found, normal = numbers(text), plain(text)
    pairs = set()
    for (a, start, end), (b, following, _) in pairwise(found):
        if re.search(r"\bfrom\b[^\d]{0,20}$", normal[:start], re.I) and re.fullmatch(r"[^\d]{0,20}\b(?:down |up )?to\b[^\d]{0,20}", normal[end:following]):
            pairs.add((a, b))
    return pairs


def _placed(text: str) -> dict[Number, tuple[frozenset[str], frozenset[str]]]:
    """Each number with the stems between it and the number before it, and between it and the one after it."""
    found, normal = numbers(text), plain(text)
    ends = [0, *(end for _, _, end in found)]
    starts = [*(start for _, start, _ in found), len(normal)]
    return {number: (stems(normal[ends[at] : starts[at]]), stems(normal[ends[at + 1] : starts[at + 1]])) for at, (number, _, _) in enumerate(found)}


def _assigned(
    both: Sequence[Number],
    ours: Mapping[Number, tuple[frozenset[str], frozenset[str]]],
    theirs: Mapping[Number, tuple[frozenset[str], frozenset[str]]],
    side: int,
    side_there: int,
) -> str:
    """Whether the words on one side of each number are those on one side of the same number there, and of no other one."""
    right = wrong = 0
    for number in both:
        others = frozenset().union(*(theirs[other][side_there] for other in both if other != number))
        own = theirs[number][side_there]
        straight, crossed = ours[number][side] & (own - others), ours[number][side] & (others - own)
        if not straight and not crossed:
            return "unclear"
        right, wrong = right + (len(straight) > len(crossed)), wrong + (len(crossed) > len(straight))
    return "right" if right == len(both) else "wrong" if wrong == len(both) else "unclear"


def links(text: str) -> list[str]:
    """The links in ``text``, without scheme and closing punctuation, in lower case."""
    return [re.sub(r"^https?://", "", link[0].lower()).rstrip(".,;:)]}>'\"/") for link in _LINK.finditer(text)]


def unheld_names(text: str, held: str, held_stems: Collection[str]) -> list[str]:
    """Names in ``text`` that ``held`` lacks: tokens with a capital or a digit, identifiers whole.

    The first word counts too unless it is one that sentences usually begin with.
    """
    lacking = []
    normal = fold(plain(held))
    for number, match in enumerate(_TOKEN.finditer(_LINK.sub(" ", plain(text)))):
        token = re.sub(r"['’]s?$", "", match[0])
        if len(token) < 2 or not (any(c.isupper() for c in token) or (any(c.isdigit() for c in token) and any(c.isalpha() for c in token))):
            continue
        if number == 0 and _opens(token):
            continue
        if any(c.isdigit() for c in token) and not token.isdigit() and re.search(r"[-.']", token):
            name = re.escape(fold(token))
            if not re.search(rf"(?<![^\W_]){name}s?(?![^\W_])", normal) and not _measure(token, held_stems):
                lacking.append(token)
        elif not stems(token) <= set(held_stems) and not stems(token.removesuffix("s")) <= set(held_stems):
            lacking.append(token)
    return lacking


def initials(text: str) -> list[str]:
    """Acronyms that readers would make of the names in ``text``: "NLU" for Natural Language Understanding."""
    runs = [[word[0] for word in run[0].split()] for run in re.finditer(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", text)]
    return ["".join(run[start:end]) for run in runs for start in range(len(run)) for end in range(start + 2, len(run) + 1)]


def _measure(token: str, held_stems: Collection[str]) -> bool:
    # "8-GPU" is a number and a name, each judged by itself; "GPT-4" is one name
    return re.match(r"\d", token) is not None and stems(token) <= set(held_stems)


def _opens(token: str) -> bool:
    if any(c.isupper() for c in token[1:]) or any(c.isdigit() for c in token):
        return False
    word = token.lower()
    return word in STOP_WORDS or word in _OPENERS or word.endswith(("ly", "ing", "tion", "ness", "ment", "ity"))


_OPENERS = frozenset(
    """according across additional adversaries agents although analysis answers approaches authors because besides beyond both common compared comparing
    current data despite different due early earlier empirical especially even evidence existing experiments experts few finally findings first fourth
    further furthermore given half hence humans instead its large larger later like longer low many methods models moreover most much neither
    nevertheless no none notably one only other otherwise overall papers part people performance previous prior rather readers researchers results second
    several similar similarly simple since small smaller some still strong studies such systems tests therefore third though three thus together two
    typical under unlike until users various weak when whereas wherever whether while with within without work yet""".split()
)


def unheld_strong_words(text: str, held_stems: Collection[str]) -> bool:
    """Whether ``text`` says "all", "only", "first", "best", "guarantees", "significantly" or the like where the source has nothing of the kind."""
    said = {stem for word in re.findall(r"[^\W_]+", plain(text).lower()) for stem in stems(word)}
    return any(group & said and not group & set(held_stems) for group in _STRONG)
