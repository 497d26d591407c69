"""Whether the sentences of abstracts hold a sentence that a language model wrote, and which of them do. Pure functions.

A sentence is kept only if nothing in it can be shown to be new: its numbers, names and links occur in its sources, its negations and
directions agree with theirs, and each of its clauses shares most of its words with them. What words alone can't tell, such as a wrong
relation between right words, an entailment model can, if one is plugged in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from qa_bot import claims, polarity
from qa_bot.answer import Support
from qa_bot.selection import stems
from qa_bot.synonyms import EMPTY, SAME
from vectorstore import Paper, Passage
from vectorstore.search import STOP_WORDS
from vectorstore.text import fold

Entails = Callable[[str, str], bool]
"""Whether a text (first) entails a sentence (second); a local entailment model fits."""

_HELD = 0.6
_HELD_CLAUSE = 0.55
"""Least share of the content words of a sentence, and of each of its clauses, that the sources must hold; tests/claims.jsonl shows what they keep and catch."""
_RUN = 3
"""So many content words in a row that no source holds are an addition."""
_AS_LIKE = 0.1
_CONTRIBUTES = 0.25
_CANDIDATES = 3

_CLAUSE = re.compile(
    r"\s*(?:[,;:()]|\s[-–]\s|—)\s*(?:(?:and|or|but|which|who|because|while|so|where|as)\s+)?|\s+(?:and|but|which|because|while|whereas|since|so that|thereby|although)\s+"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence of an abstract that was shown to the language model, with its paper."""

    passage: Passage
    paper: Paper


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which sources hold a sentence, as indexes; none if it is to be dropped. ``fault`` then says why, and is empty if it claims nothing.

    ``support`` is ``"quoted"`` if the sentence is one source word for word.
    """

    sources: tuple[int, ...]
    support: Support
    fault: str = ""


@dataclass(frozen=True)
class _Evidence:
    """Sentences of one paper, as something that a sentence can be held by."""

    sources: tuple[Source, ...]

    @cached_property
    def text(self) -> str:
        return " ".join(source.passage.text for source in self.sources)

    @cached_property
    def named(self) -> str:
        """The text with what else may be called by name: the title, what the paper introduces, what its acronyms stand for."""
        paper = self.sources[0].paper
        known = [f"{short} {long}" for short, long in _acronyms(paper.abstract) if _says(self.text, short) or _says(self.text, long)]
        return " ".join([self.text, paper.title, *_introduced(paper.abstract), *known, *claims.initials(self.text)])

    @cached_property
    def title(self) -> frozenset[str]:
        return stems(self.sources[0].paper.title)

    def shortened(self, text: str) -> str:
        """``text`` with the paper's acronyms in place of what they stand for."""
        for short, long in _acronyms(self.sources[0].paper.abstract):
            text = re.sub(r"\b" + r"[\s-]+".join(map(re.escape, long.split())) + rf"s?\b(?:\s*\({re.escape(short)}s?\))?", short, text, flags=re.I)
        return text

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.named)

    @cached_property
    def meanings(self) -> frozenset[str]:
        return self.stems | {SAME[stem] for stem in self.stems if stem in SAME}


def check(text: str, labels: Sequence[int], sources: Sequence[Source], *, entails: Entails | None = None) -> Verdict:
    """Judge one sentence.

    Args:
        text: the sentence, without labels.
        labels: indexes of the sources that it names; those that don't exist count as wrong, and wrong ones are replaced if other
            sources hold the sentence.
        sources: all sentences shown to the model.
        entails: asked last, about the cited sentences and this one.
    """
    for number, source in enumerate(sources):
        if _bare(source.passage.text) == _bare(text):
            return Verdict((number,), "quoted")
    if not _content(text) and not claims.numbers(text):
        return Verdict((), "unsupported")
    if fault := _turned_round(text, sources):
        return Verdict((), "unsupported", fault)
    named = [label for label in dict.fromkeys(labels) if 0 <= label < len(sources)]
    fault = "it names no source" if not labels else "it names a source that was not shown"
    for chosen in ([named] if named else []) + _candidates(text, sources):
        found = _fault(text, chosen, sources, entails)
        if not found:
            return Verdict(tuple(_needed(text, chosen, sources)), "checked")
        fault = found if chosen is named else fault
    return Verdict((), "unsupported", fault)


def _turned_round(text: str, sources: Sequence[Source]) -> str:
    """Why the text contradicts the sources most like it: other ones that happen to hold its words must not excuse that."""
    single = [_Evidence((source,)) for source in sources]
    likeness = [_likeness(text, held) for held in single]
    closest = [held for held, like in zip(single, likeness, strict=True) if like >= max(_HELD, max(likeness) - _AS_LIKE)]
    faults = [_contradiction(text, held) for held in closest]
    return faults[0] if faults and all(faults) else ""


def _likeness(text: str, held: _Evidence) -> float:
    """Share of the content words, directions aside, that stand in the sentence itself."""
    words = [word for word in _content(held.shortened(text)) if word not in polarity.DIRECTIONS]
    there = stems(held.shortened(held.text))
    return sum(word in there or SAME.get(word) in held.meanings for word in words) / max(1, len(words))


def _contradiction(text: str, held: _Evidence) -> str:
    ours, theirs = held.shortened(text), held.shortened(held.text)
    return polarity.contradicts(ours, theirs) or claims.misplaced_numbers(ours, theirs)


def _fault(text: str, chosen: Sequence[int], sources: Sequence[Source], entails: Entails | None) -> str:
    groups = _by_paper(chosen, sources)
    if len(groups) == 1:
        fault = _against(text, groups[0])
    else:
        # what is said of one paper must be held by that paper, or two true halves would make a false whole
        parts = [part for part in clauses(text) if _content(part) or claims.numbers(part)]
        fault = next((min(faults, key=len) for part in parts if all(faults := [_against(part, group) for group in groups])), "")
    if not fault and entails is not None:
        premise = " ".join(f"{group.sources[0].paper.title.rstrip('.')}. {group.text}" for group in groups)
        fault = "" if entails(premise, text) else "the entailment model does not follow"
    return fault


def _by_paper(chosen: Sequence[int], sources: Sequence[Source]) -> list[_Evidence]:
    papers: dict[str, list[Source]] = {}
    for number in sorted(chosen):
        papers.setdefault(sources[number].passage.paper_id, []).append(sources[number])
    return [_Evidence(tuple(group)) for group in papers.values()]


def _against(text: str, held: _Evidence) -> str:
    there = fold(held.text)
    if lost := [link for link in claims.links(text) if link not in there]:
        return f"no source has the link {lost[0]}"
    known = {number for number, _, _ in claims.numbers(held.named)}
    if any(number not in known for number, _, _ in claims.numbers(text)):
        return "no source has its number"
    if lost := claims.unheld_names(text, held.named, held.stems):
        return f"no source has the name {lost[0]}"
    if claims.unheld_strong_words(text, held.stems):
        return "it is stronger than its sources"
    return _contradiction(text, held) or _addition(text, held)


def _addition(text: str, held: _Evidence) -> str:
    if _share(text, held) < _HELD:
        return "too little of it is in its sources"
    run = 0
    for word in _content(text):
        run = 0 if _is_held(word, held) else run + 1
        if run == _RUN:
            return "it adds something"
    if any(_share(clause, held) < _HELD_CLAUSE for clause in clauses(text)):
        return "a clause of it is not in its sources"
    return ""


def clauses(text: str) -> list[str]:
    """``text`` cut at commas, semicolons, colons, brackets, dashes and the words that join clauses."""
    ends = [(match.start(), match.end()) for match in _CLAUSE.finditer(claims.unlinked(text))]
    cuts = [(0, 0), *ends, (len(text), len(text))]
    return [part for (_, start), (end, _) in pairwise(cuts) if (part := text[start:end].strip())]


def _content(text: str) -> list[str]:
    """Stems of the words that carry a claim, in order."""
    found = []
    for word in re.findall(r"[^\W_]+", claims.unnumbered(claims.unlinked(text)).lower()):
        if word not in STOP_WORDS and len(word) > 1 and not word.isdigit():
            found += [stem for stem in stems(word) if stem not in EMPTY]
    return found


def _share(text: str, held: _Evidence) -> float:
    """Share of the content words that the evidence holds; those of the title say little, since the whole abstract is about them."""
    words = _content(text)
    told = [word for word in words if word not in held.title] or words
    return sum(_is_held(word, held) for word in told) / len(told) if told else 1.0


def _is_held(stem: str, held: _Evidence) -> bool:
    return stem in held.stems or SAME.get(stem) in held.meanings


def _candidates(text: str, sources: Sequence[Source]) -> list[list[int]]:
    """Other sets of sources to try, likeliest first: of each of the best papers the best sentence, then its best two and three."""
    shares = {number: _share(text, _Evidence((source,))) for number, source in enumerate(sources)}
    best: dict[str, list[int]] = {}
    for number in sorted(shares, key=lambda number: (-shares[number], number)):
        best.setdefault(sources[number].passage.paper_id, []).append(number)
    ranked = list(best.values())[:_CANDIDATES]
    return [group[:size] for group in ranked for size in (1, 2, 3) if size <= len(group)]


def _needed(text: str, chosen: Sequence[int], sources: Sequence[Source]) -> list[int]:
    """The chosen sources that hold a fair part of the text, in their order, at least the best one."""
    shares = {number: _share(text, _Evidence((sources[number],))) for number in chosen}
    kept = [number for number in sorted(chosen) if shares[number] >= _CONTRIBUTES * max(shares.values()) and shares[number] >= _CONTRIBUTES]
    return kept or [max(sorted(chosen), key=lambda number: shares[number])]


def _bare(text: str) -> str:
    return " ".join(text.strip(" “”\"'").rstrip(" .").split())


@lru_cache(maxsize=4096)
def _acronyms(abstract: str) -> tuple[tuple[str, str], ...]:
    """Pairs like ("ECE", "Expected Calibration Error") that the abstract defines, in its order."""
    found = []
    for match in re.finditer(r"\(([A-Z][A-Za-z-]{1,9}?)s?[,)]", abstract):
        letters, words = re.sub(r"[^A-Z]", "", match[1]), re.findall(r"[^\W_]+", abstract[: match.start()])
        words[-1:] = [word.removesuffix("s") for word in words[-1:]]
        for size in range(len(letters), 1, -1):
            if len(words) >= size and _abbreviates(letters, words[-size:]):
                found.append((match[1], " ".join(words[-size:])))
                break
    return tuple(found)


def _abbreviates(letters: str, words: Sequence[str]) -> bool:
    # each word gives its first letter, and may give more: "Sparse Autoencoders (SAEs)", "full-sequence SVs (FSSVs)"
    pattern = "".join(f"{re.escape(word[0])}(?:{'|'.join(map(re.escape, word[1:].upper()))})*" if len(word) > 1 else word for word in words)
    return re.fullmatch(pattern, letters, re.I) is not None


def _introduced(abstract: str) -> list[str]:
    """Names that the paper gives to its own work; sentences about it may use them where the source says "our method"."""
    return re.findall(r"\b(?:[Ii]ntroduc\w+|[Pp]ropos\w+|[Pp]resent|namely|called|method|framework)\b[^.;]{0,60}?\b([A-Z][\w-]*[A-Z][\w-]*)", abstract)


def _says(text: str, words: str) -> bool:
    return f" {_words(words)}" in f" {_words(text)}"


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", fold(text)))
