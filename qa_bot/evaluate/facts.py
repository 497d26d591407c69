"""Key facts: whether a text holds one of the acceptable forms of a fact."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from vectorstore.text import clean

_MARKS = str.maketrans({**dict.fromkeys("‐‑‒–—―−", "-"), **dict.fromkeys("‘’‛′", "'"), **dict.fromkeys("“”„", '"'), "⁄": "/"})
_RAISED = re.compile(r"[⁰¹²³⁴-⁹⁺⁻ⁿⁱ]+")


def held(text: str, facts: Sequence[Sequence[str]]) -> list[bool]:
    """For each fact, whether one of its forms occurs in ``text``.

    Both sides are normalised: Unicode compatibility forms, dashes, quotes, LaTeX, white space, case, blanks before ``%`` and
    commas in thousands. A form begins where a word or number begins, so ``once`` is not in ``concept`` nor ``5x`` in ``15x``; one
    that ends in a digit ends where the number does, so ``5`` is in none of ``5.2``, ``5,000`` and ``5^2``. Words may go on.
    """
    normal = normalised(text)
    return [any(_holds(normal, normalised(form)) for form in forms) for forms in facts]


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
