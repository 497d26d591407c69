"""From a paper's raw title or abstract (LaTeX, HTML, JATS, Markdown) to readable text, and from there to sentences.

Cleaned text is what the index stores, searches and quotes: every span that the product shows points into it.
"""

from __future__ import annotations

import html
import logging
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import ftfy
import sentencex
from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

TEXT_VERSION = 1
"""Number of this cleaning; an index remembers it, since spans and vectors hold for one version only."""

_FTFY = ftfy.TextFixerConfig(unescape_html=False, uncurl_quotes=False, fix_character_width=False, normalization="NFC", explain=False)

# Only mark-up that carries no content of its own; `<MASK>` or `<script>` in an abstract is text and stays.
_TAG_NAMES = r"p|br|b|i|u|em|strong|sub|sup|span|div|ul|ol|li|a|tt|bold|italic|title|sec|list|list-item|underline|abstract|jats:[a-z-]+|mml:[a-z-]+"
_ATTRIBUTE = r"""\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_TAG = re.compile(rf"</?(?:{_TAG_NAMES})(?:{_ATTRIBUTE})*\s*/?>", re.IGNORECASE)  # so that "a <b and c> d" is no tag
_SUPERSCRIPT = re.compile(r"<sup>\s*([^<>]{1,40}?)\s*</sup>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});", re.IGNORECASE)

_MATH = re.compile(
    r"(?<!\\)\$\$(?P<display>[^$]{1,2000}?)(?<!\\)\$\$"
    r"|(?<!\\)\$(?P<inline>(?:[^$\\]|\\.){1,600}?)\$"
    r"|\\\((?P<round>.{1,600}?)\\\)"
    r"|\\\[(?P<square>.{1,2000}?)\\\]",
    re.DOTALL,
)
_AMOUNT = re.compile(r"\d[\d.,]*[kKmMbB]?[\s,;.]+.*[A-Za-z]{2}", re.DOTALL)
_UPRIGHT = re.compile(r"\\(?:texttt|textsc|textsf|textit|textbf|textrm|mathtt|mathsf|mathrm|operatorname\*?|mbox)\s*\{")
_INVISIBLE_MACRO = re.compile(r"\\(?:boldsymbol|bm|symbfit|displaystyle|textstyle|limits|nolimits|left\b\.?|right\b\.?|[bB]igg?[lrm]?\b|mathopen|mathclose|!)")
_SCRIPT = re.compile(r"([_^])\{((?:[^{}]|\{[^{}]*\})*)\}")
_SIMPLE_SCRIPT = re.compile(r"\s*(?:\\?[A-Za-z]+|\d+|\\(?:text|math)\w*\s*\{[^{}]*\}|[*+'-]|\(.*\))\s*")
_SIMPLE_OPERAND = re.compile(r"[^\s+\-−/=<>±·×]+")

_BOLD = re.compile(r"(?<!\d)\*\*(?=\S)(.{1,300}?)(?<=\S)\*\*(?!\d)")
_ITALIC = re.compile(r"(?<![\w*\\^_])\*(?=[^\s*.,;:)-])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\((https?://[^\s()]{1,500})\)")
_HREF = re.compile(r"\\href\s*\{([^{}]*)\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_URL = re.compile(r"\\(?:url|nolinkurl|path)\s*\{([^{}]*)\}")
_QUOTE = re.compile(r"\\enquote\s*\{([^{}]*)\}")
_CITE = re.compile(
    r"[~\s]*\\(?:cite|footcite)[a-z]*\*?\s*(?:\[[^\]]*\])*\{[^{}]*\}|\\(?:label|vspace|hspace|ref|eqref|autoref|cref|includegraphics)\*?\{[^{}]*\}"
)
_VERBATIM = re.compile(r"\\verb\*?([^\w\s*])(.{1,100}?)\1")
_TIE = re.compile(r"(?<=[A-Za-z.,)])~(?=[\w(\\$])|~(?=\\[a-zA-Z])")

# Characters that LaTeX would swallow but that prose means literally; they travel through the converter in disguise.
_LITERAL = str.maketrans({c: chr(0xF700 + i) for i, c in enumerate("~$%&#_^")})
_UNLITERAL = str.maketrans({chr(0xF700 + i): c for i, c in enumerate("~$%&#_^")})
_STAND_INS = [chr(code) for code in range(0xE000, 0xF000)]
_PRIVATE = dict.fromkeys(range(0xE000, 0xF900))
_ESCAPED = re.compile(r"\\([%$&#_~^])")

_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF])
_JOINERS = dict.fromkeys([0x200C, 0x200D])  # part of the spelling of Persian or Hindi words, but not of their look-up
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F])
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-") | dict.fromkeys("‘’‛′", "'") | dict.fromkeys("“”„", '"'))

MAX_PASSAGE_TOKENS = 190
"""Longest passage, in estimated word pieces; with a title in front it fits the default model's window of 256."""

_TOKEN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[^\W_]+|[^\w\s]|_")


def clean(raw: str) -> str:
    """Readable one-line text of ``raw``: mark-up resolved, formulas in Unicode, words untouched.

    Never raises for any string; what can't be converted is kept as it stands. Superscripts, dollar amounts,
    ``~10%``, ``snake_case`` and unknown ``<TAGS>`` survive.
    """
    text = ftfy.fix_text(raw, _FTFY).translate(_INVISIBLE).translate(_BIDI).translate(_PRIVATE)
    text = _strip_html(text)
    formulas: list[str] = []
    marked: list[str] = []
    end = at = 0
    while len(formulas) < len(_STAND_INS) and (match := _MATH.search(text, at)):
        body = next(group for group in match.groups() if group is not None)
        at = match.end()
        if match["inline"] is not None and not _is_formula(body, text[at : at + 1]):
            at = match.start() + 1  # a lone dollar: the next one may open a formula
            continue
        # one character stands in for the formula, so that \emph{an $x$ in it} stays one piece
        marked += [text[end : match.start()], _STAND_INS[len(formulas)]]
        formulas.append(_math(body))
        end = at
    prose = _prose("".join([*marked, text[end:]]))
    return " ".join(prose.translate(dict(zip(map(ord, _STAND_INS), formulas, strict=False))).split())


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans ``(start, end)`` of the sentences of cleaned ``text``, in order, without outer blanks.

    Every non-blank character is in exactly one span. A sentence over :data:`MAX_PASSAGE_TOKENS` is cut at clause or
    word ends, so that no text is lost to an embedding model's window.
    """
    spans: list[tuple[int, int]] = []
    for sentence in sentencex.get_sentence_boundaries("en", text):
        start, end = _trim(text, sentence["start_index"], sentence["end_index"])
        if start < end:
            spans += _cut(text, start, end)
    return spans


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """``text`` for comparing names: lower case, accents and width folded, dashes and quotes plain, single blanks."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_DASHES).translate(_JOINERS))
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    return " ".join(plain.casefold().replace("ß", "ss").replace("ø", "o").replace("ł", "l").split())


def name_key(name: str) -> str:
    """``name`` for looking up a person: as :func:`fold`, and without dots, hyphens and apostrophes."""
    return " ".join(re.sub(r"[.\-]", " ", fold(name).replace("'", "")).split())


def storable(text: str) -> str:
    """``text`` without what UTF-8 and SQLite can't hold: lone surrogates, which are valid JSON escapes, become ``?``; NUL goes."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def search_text(text: str) -> str:
    """The copy of ``text`` that keyword search reads: compatibility forms folded, so that "10⁻³" also matches "10-3"."""
    return unicodedata.normalize("NFKC", text.translate(_JOINERS)).translate(_DASHES)


def _strip_html(text: str) -> str:
    if "<" not in text and "&" not in text:
        return text
    text = _SUPERSCRIPT.sub(lambda m: f"^{m[1]}" if _SIMPLE_SCRIPT.fullmatch(m[1].lstrip("-−")) else f"^({m[1]})", text)
    text = _TAG.sub(lambda m: " " if _breaks(m[0]) else "", text)
    for _ in range(2):  # twice, since Crossref and some exports escape what was escaped already
        if not _ENTITY.search(text):
            break
        text = _ENTITY.sub(lambda m: html.unescape(m[0]), text)
    return re.sub(r"</?jats:[a-z-]+[^<>]{0,300}>", " ", text)


def _breaks(tag: str) -> bool:
    return re.match(r"</?(?:p|br|div|li|ul|ol|title|sec|jats:(?:p|title|sec))\b", tag, re.IGNORECASE) is not None


def _is_formula(body: str, following: str) -> bool:
    if "\\" in body:
        return True
    if body[:1].isdigit():  # a formula may start with a digit, but so do "$5-$7" and "$5 million and $7 million"
        return not (following.isdigit() or body[-1] in " -–/(," or _AMOUNT.match(body))
    if body[:1].isspace() or body[-1:].isspace():
        return len(body.split()) == 1 and body[:1].isspace() and body[-1:].isspace()
    return ". " not in body


def _prose(text: str) -> str:
    text = _LINK.sub(r"\1 (\2)", _BOLD.sub(r"\1", _ITALIC.sub(r"\1", text)))
    if "\\" in text:
        text = _VERBATIM.sub(lambda m: m[2].translate(_LITERAL), text)
        text = _QUOTE.sub(r"“\1”", _URL.sub(r"\1", _HREF.sub(r"\2 (\1)", text)))
        text = _TIE.sub(" ", _CITE.sub("", text)).replace("\\tfrac", "\\frac")
        if "\\" in text:
            disguised = _ESCAPED.sub(r"\1", text).translate(_LITERAL)
            text = _converted(disguised).translate(_UNLITERAL)
    return text.replace("``", "“").replace("''", "”") if "``" in text else text


def _math(body: str) -> str:
    source = _INVISIBLE_MACRO.sub("", _UPRIGHT.sub(r"\\text{", body)).replace("\\tfrac", "\\frac").replace("\\dfrac", "\\frac")
    source = _SCRIPT.sub(lambda m: m[0] if _SIMPLE_SCRIPT.fullmatch(m[2]) else f"{m[1]}{{({m[2]})}}", source)
    source = _ESCAPED.sub(lambda m: m[1].translate(_LITERAL), source)
    return " ".join(_converted(source, math=True).translate(_UNLITERAL).split())


def _converted(source: str, *, math: bool = False) -> str:
    try:
        plain = str(_converter().latex_to_text(f"${source}$" if math else source))
    except Exception:
        # pylatexenc raises errors of a dozen kinds on rare malformed input; readable source beats a lost sentence
        return source
    return source if "%s" in plain and "%s" not in source else plain


@lru_cache(maxsize=1)
def _converter() -> Any:
    logging.getLogger("pylatexenc.latex2text").setLevel(logging.CRITICAL)  # it reports each malformed macro
    context = get_default_latex_context_db()
    macros = [MacroTextSpec(name, simplify_repl="%s") for name in ("texttt", "textsc", "textsf", "underline", "mbox")]
    macros += [MacroTextSpec(name, simplify_repl="") for name in ("em", "bf", "it", "rm", "tt", "sc", "sf", "selectfont")]
    macros += [MacroTextSpec("frac", simplify_repl=_fraction)]
    macros += [MacroTextSpec("colon", simplify_repl=":"), MacroTextSpec("today", simplify_repl="")]  # the same text every day
    context.add_context_category("paper", macros=macros, prepend=True)
    # an author's own \method or \sys would vanish otherwise
    context.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=lambda node: str(node.macroname)))
    spaces = {"between-macro-and-chars": False, "between-latex-constructs": True, "after-comment": True, "in-equations": "based-on-source"}
    return LatexNodes2Text(latex_context=context, math_mode="text", keep_comments=True, strict_latex_spaces=spaces)


def _fraction(node: Any, l2tobj: Any) -> str:
    above, below = (l2tobj.nodelist_to_text([arg]).strip() for arg in node.nodeargd.argnlist[-2:])
    return "/".join(part if _SIMPLE_OPERAND.fullmatch(part) else f"({part})" for part in (above, below))


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    tokens = 0
    clause = word = start  # the latest places where a cut reads well, and where it breaks no word
    for match in _TOKEN.finditer(text, start, end):
        cost = _word_pieces(match[0])
        if tokens and tokens + cost > MAX_PASSAGE_TOKENS:
            at = clause if clause > start + (match.start() - start) // 2 else word if word > start else match.start()
            yield _trim(text, start, at)
            start, tokens = _trim(text, at, end)[0], sum(_word_pieces(t) for t in _TOKEN.findall(text, at, match.start()))
            clause = word = start
        tokens += cost
        if match.end() < end and text[match.end()].isspace():
            word = match.end()
            clause = word if match[0] in ",;:" else clause
    if start < end:
        yield start, end


def _word_pieces(token: str) -> int:
    # measured on the default model's tokenizer, on the safe side: a common English word is one piece or two, names and long
    # compounds one in three letters, figures, acronyms and other scripts nearly one a character
    if not token.isascii() or token.isdigit():
        return len(token)
    if token.islower() and len(token) <= 12:
        return -(-len(token) // 5)
    return -(-3 * len(token) // 4) if token.isupper() or not token.isalpha() else -(-len(token) // 3)
