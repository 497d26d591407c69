"""Measures of one answer as pure functions over ids and texts. All are 0 to 1, larger is better, unless they say otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from qa_bot.evaluate.facts import held
from vectorstore.search import STOP_WORDS
from vectorstore.text import fold

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {word: number for number, word in enumerate(_ONES)} | {word: 10 * number for number, word in enumerate(_TENS, start=2)}
_WORDS |= {f"{tens}-{ones}": _WORDS[tens] + _WORDS[ones] for tens in _TENS for ones in _ONES[1:10]} | {"no": 0, "none": 0}
_NUMBER = (
    r"(?:(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w-]|[.,]\d)|(?<![\w.,-])\d+(?![\w-]|[.,]\d)|(?<![\w-])(?!(?:one of|no (?:fewer|less|more))\b)(?:"
    + "|".join(sorted(_WORDS, key=len, reverse=True))
    + r")(?![\w-]))"
)
_COUNTED = re.compile(
    rf"(?<!of the )(?<!of )({_NUMBER})(?: (?!of\b)[\w-]+){{0,3}} (?:papers?|works?|articles?|publications?|titles?|abstracts?|of (?:them|these|those|the))\b",
    re.I,
)
_ANY_NUMBER = re.compile(rf"({_NUMBER})", re.I)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|\[[\d, ]+\]")
_TERMS = re.compile(r"https?://\S+|[^\W_]+(?:[-.'][^\W_]+)*")
_LEAST_SHARED = 0.6


def ranking(scores: Mapping[str, float]) -> list[str]:
    """Ids by falling score; ties are broken by id, so that no figure depends on an engine's order of equals."""
    return sorted(scores, key=lambda paper: (-scores[paper], paper))


def hit_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Success@k: 1 if one of the first ``k`` ranked ids is relevant, else 0; 0 if none is relevant. Computed by ir-measures."""
    return _ir(f"Success@{k}", ranked, relevant)


def recall_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """R@k: share of the relevant ids among the first ``k``; below 1 if more than ``k`` are relevant; 1 if none is. Computed by ir-measures."""
    return _ir(f"R@{k}", ranked, relevant) if relevant else 1.0


def recall_curve(depth: int, ranked: Sequence[str], relevant: Collection[str]) -> list[float]:
    """:func:`recall_at` 1, 2, … ``depth``."""
    return _all_ir([f"R@{k}" for k in range(1, depth + 1)], ranked, relevant) if relevant else [1.0] * depth


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant id, 0 if none is ranked; its mean is MRR (Voorhees, TREC-8, 1999). Computed by ir-measures."""
    return _ir("RR", ranked, relevant)


def ndcg_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """nDCG@k with gain 1 for a relevant id and discount 1 / log2(rank + 1), over the best order there is; 0 if none is relevant.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002. Computed by ir-measures.
    """
    return _ir(f"nDCG@{k}", ranked, relevant)


def citation_precision(cited: Collection[str], acceptable: Collection[str]) -> float:
    """Share of the cited papers that may be cited; 0 if nothing is cited."""
    return len(set(cited) & set(acceptable)) / len(set(cited)) if cited else 0.0


def citation_recall(cited: Collection[str], required: Collection[str]) -> float:
    """Share of the papers that must be cited which are; 1 if none must be."""
    return len(set(cited) & set(required)) / len(set(required)) if required else 1.0


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of precision and recall; 0 if both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def key_fact_recall(text: str, facts: Sequence[Sequence[str]]) -> float:
    """Share of the facts of which an acceptable form occurs in ``text``; 1 without facts. :func:`held` says how texts are compared."""
    return sum(held(text, facts)) / len(facts) if facts else 1.0


def quote_exactness(quotes: Sequence[tuple[str, int, int]], abstract: str) -> float:
    """Share of the quotes ``(text, start, end)`` that are exactly ``abstract[start:end]``, whole and in place; 1 without quotes."""
    return sum(0 <= start < end <= len(abstract) and text == abstract[start:end] for text, start, end in quotes) / len(quotes) if quotes else 1.0


def support_rate(sentences: Sequence[tuple[str, Sequence[str]]]) -> float:
    """Share of the sentences that their sources hold, each given with the texts of its sources; 1 without sentences.

    A sentence is held if it is a verbatim part of a source. Else each of its numbers and links must occur in a source, and so must
    60 % of its distinct words, stop words aside; without a source it is not held. A lexical lower bar, no proof of entailment: it catches
    invented figures, links and topics, not a wrong relation between right words.
    """
    return sum(_supported(text, sources) for text, sources in sentences) / len(sentences) if sentences else 1.0


def stated_number(text: str) -> int | None:
    """The number of papers that ``text`` states, in digits or words up to ninety-nine, "no" and "none" being 0; None if there is none.

    The first whole number that counts papers ("5 papers", "three of them"), else the first that isn't the total in "of the 38
    papers". Quoted titles and marks like [1] don't count.
    """
    plain = re.sub(r"\bof (?:the |all )?[\d,]+ (?:papers|works|articles)\b", " ", _QUOTED.sub(" ", text), flags=re.I)
    found = _COUNTED.search(plain) or _ANY_NUMBER.search(plain)
    if found is None:
        return None
    word = found[1].lower()
    return _WORDS[word] if word in _WORDS else int(word.replace(",", ""))


def count_exactness(stated: int | None, listed: Collection[str], relevant: Collection[str], also_ok: Collection[str] = ()) -> float:
    """1 if the number stated is the number of relevant papers and the papers listed are those, else 0.

    Papers in ``also_ok`` may be listed and counted too. ``stated`` is None if no number was given.
    """
    listed, relevant = set(listed), set(relevant)
    return float(stated is not None and relevant <= listed <= relevant | set(also_ok) and stated in (len(relevant), len(listed)))


def answer_words(text: str) -> int:
    """Length of an answer in words, 0 or more; neither more nor less is better by itself."""
    return len(text.split())


def _ir(measure: str, ranked: Sequence[str], relevant: Collection[str]) -> float:
    return _all_ir([measure], ranked, relevant)[0]


def _all_ir(measures: Sequence[str], ranked: Sequence[str], relevant: Collection[str]) -> list[float]:
    import ir_measures

    if not relevant:
        return [0.0] * len(measures)
    order = list(dict.fromkeys(ranked))
    run = {"q": {paper: float(len(order) - rank) for rank, paper in enumerate(order)}}
    parsed: list[Any] = [ir_measures.parse_measure(measure) for measure in measures]
    found = {str(entry.measure): float(entry.value) for entry in ir_measures.iter_calc(parsed, {"q": dict.fromkeys(relevant, 1)}, run)}
    return [found[str(measure)] for measure in parsed]


def _supported(text: str, sources: Sequence[str]) -> bool:
    if any(text in source for source in sources):
        return True
    known = {term for source in sources for term in _TERMS.findall(fold(source))}
    terms = set(_TERMS.findall(fold(text))) - STOP_WORDS
    hard = {term for term in terms if term[0].isdigit() or term.startswith("http")}
    return bool(sources) and bool(terms) and hard <= known and len(terms & known) >= _LEAST_SHARED * len(terms)
