"""The patterns by which :mod:`qa_bot.listing_query` reads a question. Every repetition is bounded or can match in one way only."""

from __future__ import annotations

import re
from collections.abc import Callable

# Marks: a quotation, a part ("in the title"), a noun ("titles"), an author, any other constraint. All but the last number what they stand for.
QUOTE, PART, NOUN, AUTHOR, DONE = "\ue000", "\ue100", "\ue200", "\ue300", "\ue400"
Q, P, N, A = (f"[{first}-{chr(ord(first) + 255)}]" for first in (QUOTE, PART, NOUN, AUTHOR))

PAPERS = r"(?:papers|articles|works|publications|manuscripts|preprints|studies|entries|records|documents|items)"
PAPER = r"(?:paper|article|work|publication|manuscript|preprint|study|entry|record|document|item)"
SUBJECT = re.compile(
    rf"\b(?:{PAPERS}|{PAPER}|titles?|abstracts?|anything|everything|something)\b|\b(?:how many|what|which|did|has|have|does)\b.{{0,200}}\b(?:wrote|write|written|publish(?:ed)?|co-?author(?:ed)?)\b",
    re.I,
)
WHERE = re.compile(
    r"\b(?:in|of|from|within|across|inside|by)\s+(?:the|this|your|our|my|that)\s+(?:whole |entire |full )?(?:collection|index|catalogu?e|corpus|database|library|data\s?set|bundle)\b"
    r"|\b(?:explicitly|verbatim|anywhere|somewhere|at all|by name|at least once)\b",
    re.I,
)
FILLER = frozenset(
    """a accepted all am among an and any anything appear appeared appears are article articles as at author authored authors be been being both by called can carried carries carry carrying catalogue co coauthor coauthored coauthors
    collaborate collaborated collection contribute contributed contributes could count counted counting credit credited currently d did display do document documents does either entries entry enumerate every everything exact exactly exist exists
    find for from full get give given gimme got had has have having hello here hey hi i if in include included includes including index indexed interested involve involved involves involving is item items jointly
    know let like list listed listing lists ll look looking m manuscript manuscripts many me name named names need now number numbers of ok okay one ones our out overall paper papers please pls precisely
    preprint preprints presented print produce produced provide publication publications publish published publishing record records retrieve return s see share show so some something studies study tell
    thank thanks that the their there to together total totals us want was we were what whats which whose with work works would write writes writing written wrote you your""".split()
)
SAID_TWICE = re.compile(
    r"^on (?=how many|which|what)|\bhow many\b|\b(?:that|and|but) also\b|\b(?:(?:list|name|show|give|enumerate|print)(?: me)?|which|what)(?: ones)?(?: are| were)?(?: all(?: of)?)? (?:they|them|these|those)\b"
    rf"|(?<={DONE}) (?:contain|hold|cover|comprise)s?\b|(?<={A}) (?:appears? )?on\b|\bin (?:them|it)\b",
    re.I,
)
"""Turns of phrase that say nothing more, of words that would say something elsewhere."""
POINTED = re.compile(
    rf"\b(?:this|that|these|those|its|another|other|same|their)\s+(?:\w+\s+)?(?:{PAPER}|{PAPERS})\b|\bthe\s+(?:\w+\s+)?{PAPER}\b"
    r"|\b(?:which|what|how many|list|name|number of|count|tell me|give me|show(?: me)?)\s+(?:(?:of|all|are|is|the|an?)\s+)*(?:co-?)?authors?\b",
    re.I,
)
"""What is asked is not a list of papers: it points at one paper, or wants authors."""

_T = r"(?:titles?|abstracts?)"
NOUNS = re.compile(rf"\b(?P<one>{_T})(?:\s*(?P<join>/|or|and/or|and|&)\s*(?:(?:the|their|its)\s+)?(?P<two>{_T}))?\b", re.I)
PARTS = re.compile(
    rf"\b(?:in|within|inside)\s+(?P<both>both\s+)?(?:(?:either|any of|the|their|its|an?|paper'?s?|some)\s+){{0,3}}(?P<one>{_T})"
    rf"(?:\s*(?P<join>,|/|or|and/or|and|&|as well as)\s*(?:(?:in|the|their|its|an?|or|else)\s+){{0,3}}(?P<two>{_T}))?\b(?:\s+of\s+(?:the|an?|each|any)\s+(?:{PAPERS}|{PAPER})\b)?",
    re.I,
)
QUOTED = re.compile(r"(?<!\w)'([^'\n]{1,200}?)'(?!\w)|[\"“„”«]([^\"“”„«»]{1,200})[\"”“»]|‘([^‘’]{1,200})’(?!\w)|`([^`]{1,200})`")

MARKED = r"(?:(?:the|either|any|one|at least one|both|all|of|an?)\s+){0,4}(?:(?:exact|literal|whole)\s+)?(?:words?|terms?|phrases?|strings?|keywords?|acronyms?|abbreviations?|expressions?)\b(?:\s+(?:like|of))?\s*[:,]?\s*"
VERB = re.compile(
    rf"\b(?:(?P<strong>mention(?:s|ed|ing)?|contain(?:s|ed|ing)?)|(?P<weak>uses?|using|used|includ(?:e|es|ed|ing)|featur(?:e|es|ed|ing)|have|has|having|with|carry|carries|bears?|holds?|employ(?:s|ing)?|says?))\s+(?P<marked>{MARKED})?",
    re.I,
)
STOP = re.compile(
    r"[\ue100-\uf8ff]|[.?!;:](?=\s|$)|,?\s*\b(?:how many|which|what|who|whose|that|where|list|count|are there|is there|please|pls|there are|do you|(?:and|but|or) (?:also )?(?:by|from|are|is|were|was|have|has|filed|mention\w*|contain\w*|with|how|which|who|that|list|name))\b",
    re.I,
)
OCCURS = r"(?:occurs?|appears?|shows? up|comes? up|turns? up|(?:is |are |get |gets |be |been )?(?:mentioned|used|found|featured|included|contained|present))"
OCCURRENCE = re.compile(
    rf"(?:\b(?:does|do|is|are|where|in which|that|has|have)\s+|^)(?P<marked>{MARKED})?(?P<term>[^\ue100-\uf8ff?!;]{{1,80}}?)\s+(?:both\s+|also\s+|together\s+)?(?P<verb>{OCCURS})\b(?:\s+in\b(?!\s+(?:how|which|any|some)\b))?",
    re.I,
)
MORE_WORDS = rf"{DONE}\s*,?\s*(?:and|as well as)\s+(?P<run>[^\ue100-\uf8ff?!;]{{1,80}}?)\s*(?P<part>{P})"
LINK = re.compile(
    r"\b(?:contain(?:s|ing)?|includ(?:e|es|ing)|ha(?:s|ve|ving)|with|mention(?:s|ing)?|gives?|giving|provid(?:e|es|ing)|featur(?:e|es|ing)|carr(?:y|ies)|holds?)\s+(?:(?:both|an?|any|the|some|at least one|their)\s+){0,2}"
    r"(?:(?P<host>github(?:\.com|\.io)?|gitlab(?:\.com)?|hugging ?face(?:\.co)?|[a-z0-9-]+\.(?:com|org|io|net|ai|co)|code|source code)[ -]+)?(?:(?:hyper)?links?|urls?|web address(?:es)?)\b"
    r"(?:\s+to\s+(?:(?:the|an?|their|its|some)\s+)?(?P<to>code|source code|(?:code )?repositor(?:y|ies)|implementations?|github(?:\.com)?|gitlab|hugging ?face|[a-z0-9-]+\.(?:com|org|io|net|ai|co))\b)?(?:\s+(?:hosted\s+)?(?:on|at)\s+(?P<on>github|gitlab|hugging ?face)\b)?",
    re.I,
)

TIE = re.compile(
    r"(?:\b(?:are |is |was |were |been )?(?P<verb>filed|listed|classified|classed|categori[sz]ed|label?led|tagged|grouped|placed|sorted|marked|assigned|belong(?:s|ing)?|fall(?:s|ing)?|fell)\s+)?"
    r"(?:\b(?P<under>under)\s+|\b(?:as|in|into|to|within|from|on|for|of|with|by)\s+)?(?:\b(?:the|their|a|an|as)\s+)?"
    r"(?:\b(?P<noun>topics?|categor(?:y|ies)|subject areas?|areas?(?!\s+of)|tracks?|labels?|headings?)(?:\s+(?:labels?|path))?\s*(?:(?:of|is|are|being|called|named)\s+|[:=]\s*)?)?(?:\bthe\s+)?[\"'“‘]?$",
    re.I,
)
SETTLED_TIE = re.compile(r"->|→|>|»")
NEGATED = r"\s*(?:\(\s*|,\s*)(?:(?:and|but)\s+)?not\s+(?:(?:under|in|the)\s+)*"
TIED_AFTER = re.compile(r"[\"'”’]?\s+(?:as\s+(?:an?|the|their|its)\s+)?(?:topic|category|area|track|label|heading)s?\b", re.I)

NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
)
NUMBER = rf"(?:\d{{1,3}}|{'|'.join(reversed(NUMBER_WORDS))})"
SEVERAL_AUTHORS = re.compile(
    rf"\b(?:between\s+(?P<low>{NUMBER})\s+and\s+(?P<high>{NUMBER})|(?P<from>{NUMBER})\s*(?P<range>-|to\b|or\b)\s*(?P<to>{NUMBER})"
    rf"|(?:(?P<bound>exactly|precisely|just|only|at least|at most|no (?:more|fewer|less) than|not more than|up to|more than|over|above|(?:fewer|less) than|under|below)\s+)?"
    rf"(?P<number>an?\s+(?:single|lone|sole)|single|sole|solo|lone|multiple|several|{NUMBER})(?:\s+(?P<after>or more|or fewer|or less))?)[\s-]+(?:different\s+|distinct\s+)?"
    r"(?:author(?:s|ed)?|people|persons?|researchers?|scientists?)\b(?!\s+(?:with|called|named|whose|who|surnamed|each|has|have|is|are)\b)",
    re.I,
)
NAME = r"[\"'“‘]?(?P<name>(?:(?:van|von|der|den|de|di|la|le|del|al|el|bin|ben|da|dos|du|ter)[\s-]+){0,2}[^\W\d_](?:[\w-]|'(?!s\b)(?=\w))*)[\"'”’]?"
SURNAME = re.compile(
    rf"(?:\b(?:at least one|an?|any|some|one|the)\s+(?:co-?)?(?:authors?|person|people)\s+)?(?:\b(?:with|having|of|whose|by|carrying|bearing|has|have)\s+)?(?:\b(?:the|an?|their)\s+)?\b(?:surname|last name|family name)s?\s*(?:is\s+|of\s+|[:=]\s*)?{NAME}"
    rf"|(?:\b(?:at least one|an?|any|some|one)\s+)?\b(?:(?:co-?)?authors?|somebody|someone|anyone|anybody)\s+(?:called|named|surnamed)\s+{NAME.replace('?P<name>', '?P<called>')}"
    rf"|\b{NAME.replace('?P<name>', '?P<as>')}\s+as\s+(?:an?\s+|the\s+|their\s+)?(?:author\s+)?(?:surname|last name|family name)\b"
    rf"|\bby\s+{NAME.replace('?P<name>', '?P<first>')}\s+et\.?\s+al\b\.?",
    re.I,
)
_YEAR = r"((?:1\d|2\d)\d\d)\b"
YEARS: tuple[tuple[re.Pattern[str], Callable[[list[int]], tuple[int | None, int | None] | None]], ...] = tuple(
    (re.compile(pattern.replace("YEAR", _YEAR), re.I), span)
    for pattern, span in (
        (
            r"\b(?:between\s+(?:the\s+years?\s+)?YEAR\s+and|(?:from|in|during)\s+(?:the\s+years?\s+)?YEAR\s*(?:-|to|until|till|through))\s*YEAR",
            lambda y: (min(y), max(y)),
        ),
        (
            r"\b(?:from|in|during|of)\s+(?:the\s+years?\s+)?YEAR\s+(?:or|and)\s+(?:in\s+|from\s+)?YEAR",
            lambda y: (min(y), max(y)) if max(y) - min(y) == 1 else None,
        ),
        (r"\b(?:the\s+years?\s+)?YEAR\s*(?:-|to)\s*YEAR", lambda y: (min(y), max(y))),
        (r"\b(?:since|from|in)\s+(?:the\s+year\s+)?YEAR\s+(?:onwards?|on|or later|and later|or after|or newer)\b", lambda y: (y[0], None)),
        (r"\bsince\s+(?:the\s+year\s+)?YEAR", lambda y: (y[0], None)),
        (r"\b(?:after|later than|newer than)\s+(?:the\s+year\s+)?YEAR", lambda y: (y[0] + 1, None)),
        (r"\b(?:before|earlier than|older than|prior to)\s+(?:the\s+year\s+)?YEAR", lambda y: (None, y[0] - 1)),
        (r"\b(?:until|till|up to)\s+(?:the\s+year\s+)?YEAR|\b(?:from|in)\s+YEAR\s+(?:or|and) earlier\b", lambda y: (None, y[0])),
        (r"\b(?:(?:in|from|of|during|dated|for|with)\s+)?(?:the\s+)?(?:(?:publication\s+)?year\s+(?:is\s+|of\s+)?)YEAR", lambda y: (y[0], y[0])),
        (rf"\b(?:in|from|of|during|dated)\s+YEAR|\bYEAR(?=\s+(?:{PAPERS}|{PAPER})\b)", lambda y: (y[0], y[0])),
    )
)
VENUE = (
    r"(?:\b(?:published|presented|accepted|appear(?:ed|ing|s)?)\s+)?(?:\b(?P<tie>at|in|from|of|to)\s+)?(?:\bthe\s+)?(?:\b(?P<kind>venue|conference|journal|workshop)\s+(?:is\s+|of\s+)?)?"
    rf"\b(?P<name>NAMES)\b(?:\s+(?P<year>{_YEAR[1:-3]}))?(?:\s+conference\b)?(?P<noun>(?=\s+(?:{PAPERS}|{PAPER})\b))?"
)
PLACES = (
    (re.compile(rf"({A})(?:'s)?\s*,?\s*(?:as|is|was|being)?\s*(?:the|an?|their|its)?\s*(first|lead|last|senior)[\s-]+author\b", re.I), 1, 2),
    (re.compile(rf"\b(first|lead|last|senior)[\s-]+author(?:ed|s)?\s*(?:is|was|being|by|of)?\s*({A})", re.I), 2, 1),
)


def is_filler(words: str) -> bool:
    """Whether ``words`` are all in :data:`FILLER`."""
    return all(word in FILLER for word in re.findall(r"[^\W_]+", words.lower()))


def number(text: str) -> int:
    """The number that :data:`SEVERAL_AUTHORS` has found: in digits or words, "a single" or "several"."""
    word = text.lower().split()[-1]
    if word.isdigit():
        return int(word)
    return NUMBER_WORDS.index(word) if word in NUMBER_WORDS else 2 if word in ("multiple", "several") else 1
