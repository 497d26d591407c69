"""Measures as pure functions over ids and texts; each is 0 to 1, larger is better unless it says otherwise."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Sequence

from vectorstore.text import clean

_MARKS = str.maketrans({**dict.fromkeys("‐‑‒–—―−", "-"), **dict.fromkeys("‘’‛′", "'"), **dict.fromkeys("“”„", '"'), "⁄": "/"})
_RAISED = re.compile(r"[⁰¹²³⁴-⁹⁺⁻ⁿⁱ]+")


def hit_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Success@k: 1 if one of the first ``k`` ranked ids is relevant, else 0."""
    return float(any(paper in relevant for paper in ranked[:k]))


def recall_at(k: int, ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Share of the relevant ids among the first ``k`` (1 or more), of those that fit: hits / min(k, relevant). 1 if none is relevant."""
    wanted = set(relevant)
    return len(set(ranked[:k]) & wanted) / min(k, len(wanted)) if wanted else 1.0


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant id, 0 if none is ranked; its mean is MRR."""
    return next((1 / rank for rank, paper in enumerate(ranked, start=1) if paper in relevant), 0.0)


def citation_precision(cited: Collection[str], acceptable: Collection[str]) -> float:
    """Share of the cited papers that may be cited; 0 if nothing is cited."""
    return len(set(cited) & set(acceptable)) / len(set(cited)) if cited else 0.0


def citation_recall(cited: Collection[str], required: Collection[str]) -> float:
    """Share of the papers that must be cited which are; 1 if none must be."""
    return len(set(cited) & set(required)) / len(set(required)) if required else 1.0


def key_fact_recall(text: str, facts: Sequence[Sequence[str]]) -> float:
    """Share of the facts of which an acceptable form occurs in ``text``; 1 without facts.

    Both sides are normalised: Unicode compatibility forms, dashes, quotes, LaTeX, white space, case, blanks before ``%`` and
    commas in thousands. A form begins where a word or number begins, so ``once`` is not in ``concept`` nor ``5x`` in ``15x``; one
    that ends in a digit ends where the number does, so ``5`` is in none of ``5.2``, ``5,000`` and ``5^2``. Words may go on.
    """
    if not facts:
        return 1.0
    normal = normalised(text)
    return sum(any(_holds(normal, normalised(form)) for form in forms) for forms in facts) / len(facts)


def quote_exactness(quotes: Sequence[tuple[str, int, int]], abstract: str) -> float:
    """Share of the quotes ``(text, start, end)`` that are exactly ``abstract[start:end]``; 1 without quotes."""
    return sum(0 <= start < end <= len(abstract) and text == abstract[start:end] for text, start, end in quotes) / len(quotes) if quotes else 1.0


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest-rank percentile: the smallest value that at least ``share`` (0 to 1) of the values don't exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)] if ordered else 0.0


def normalised(text: str) -> str:
    """``text`` for comparing facts."""
    raised = _RAISED.sub(lambda match: "^" + unicodedata.normalize("NFKC", match[0]), clean(text))
    plain = unicodedata.normalize("NFKC", raised).translate(_MARKS).casefold()
    plain = re.sub(r"\^[{(]([^{}()]*)[})]", r"^\1", plain)
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", re.sub(r"(?<=\d)\s+%", "%", plain))
    return " ".join(plain.split())


def _holds(text: str, form: str) -> bool:
    if not form:
        return False
    start = r"(?<!\w)(?<!\d[.,])(?<!\^)(?<!\^-)" if form[0].isalnum() else ""
    end = r"(?!\w)(?![.,]\d)(?!\^)" if form[-1].isdigit() else ""
    return re.search(start + re.escape(form) + end, text) is not None
