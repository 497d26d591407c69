"""How well a sentence answers a question: features of both, and a fitted linear score of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import snowballstemmer

from qa_bot.learned.parameters import broken, read_parameters
from vectorstore import Hit, Term
from vectorstore.text import search_text

PARAMETERS = "selection.json"

FEATURES = (
    "cosine",
    "cosine_lead",
    "overlap",
    "overlap_with_title",
    "overlap_lead",
    "position",
    "first",
    "last",
    "paper_share",
    "number_for_number",
    "number",
    "method_for_method",
    "method",
    "link_for_link",
    "link_unasked",
    "length",
    "own_work",
    "result",
    "result_for_result",
    "background",
    "trouble_for_why",
)

ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|large|big|high|low|often|fast|quick|accurate|well|long)|what (?:percentage|number|share|fraction|rate|accuracy|score)|percent\w*|number of|scores?|rates?|accuracy|by what|threshold|improvement|quicker|faster|speed-?up)\b",
    re.I,
)
ASKS_LINK = re.compile(r"\b(?:code|github|repo(?:sitory)?|implementation|link|url|download|documentation|docs|website|project page|open.?sourced?)\b", re.I)
HAS_LINK = re.compile(r"https?://|www\.|\.github\.io|github\.com", re.I)
_ASKS_METHOD = re.compile(
    r"^(?:how|describe|explain|what (?:are|were) the steps|which (?:training )?recipe)\b|\bhow (?:do|does|did|is|are|was|were|can)\b", re.I
)
_ASKS_RESULT = re.compile(
    r"\b(?:find|found|shows?|results?|evaluat\w*|benchmark\w*|outperform\w*|better|compare\w*|beats?|improve\w*|gains?|accura\w*|tested|experiments?)\b", re.I
)
_ASKS_WHY = re.compile(r"\bwhy\b|\b(?:reason|problem|fail|wrong|limit|issue|missing|shortcoming)", re.I)
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|eighteen|hundred|thousand|million|half|twice|double)\b", re.I)
_ONLY_LINK = re.compile(
    r"^.{0,120}\b(?:code|data|dataset|model|page|repository|website|demo|weights)\b.{0,60}\b(?:available|found|at|released|is)\b.{0,80}(?:https?://|\.github\.io|github\.com)",
    re.I,
)
_METHOD = re.compile(
    r"\b(?:we (?:propose|introduce|present|develop|design|show how|combine|use|train)|our (?:method|approach|framework)|consists? of|leverag\w+|first\b.{0,80}\bthen)\b",
    re.I,
)
_OWN_WORK = re.compile(r"\b(?:we|ours?|this (?:paper|work|study|article)|in this)\b", re.I)
_RESULT = re.compile(
    r"\b(?:experiments?|results?|outperform\w*|achiev\w*|improv\w*|demonstrat\w*|shows?|shown|finds?|findings?|reveal\w*|reduc\w*|state-of-the-art|empirical\w*|evaluat\w*)\b",
    re.I,
)
_BACKGROUND = re.compile(r"^(?:however|existing|recent\w*|while|although|despite|prior|previous|current|traditional|most|many)\b", re.I)
_TROUBLE = re.compile(
    r"\b(?:fail\w*|limit\w*|suffer\w*|cannot|lack\w*|ignor\w*|overlook\w*|because|due to|problem\w*|challeng\w*|costly|unstable|but|however)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Weights of :data:`FEATURES`; a sentence's score is the log-odds that it is needed to answer."""

    intercept: float
    weights: Mapping[str, float]

    def scores(self, question: str, hits: Sequence[Hit], terms: Sequence[Term]) -> list[list[float]]:
        """Log-odds for every sentence of every hit, in their order; comparable within one question."""
        return [
            [self.intercept + sum(self.weights[name] * value for name, value in zip(FEATURES, row, strict=True)) for row in rows]
            for rows in features(question, hits, terms)
        ]


def features(question: str, hits: Sequence[Hit], terms: Sequence[Term]) -> Iterator[list[list[float]]]:
    """For each hit, best first, a row of :data:`FEATURES` for each of its sentences.

    ``overlap`` is the share of the question's idf mass that the sentence holds, words of the paper's title left out, since every
    sentence is about them. A ``_lead`` is the distance to the best sentence, of the paper or of all hits; ``paper_share`` the
    paper's score as a share of the best paper's.
    """
    number, link, method, result, why = (bool(asked.search(question)) for asked in (ASKS_NUMBER, ASKS_LINK, _ASKS_METHOD, _ASKS_RESULT, _ASKS_WHY))
    best_score = hits[0].score or 1e-9 if hits else 1.0
    best_cosine = max((cosine for hit in hits for _, cosine in hit.passages), default=0.0)
    idf = {stem: term.idf for term in terms for stem in stems(term.word)}
    for hit in hits:
        in_title = stems(hit.paper.title)
        outside = {stem: value for stem, value in idf.items() if stem not in in_title}
        held = [stems(passage.text) for passage, _ in hit.passages]
        overlaps = [_share(words, outside) for words in held]
        last = len(hit.passages) - 1
        rows = []
        for at, (passage, cosine) in enumerate(hit.passages):
            text = passage.text
            has_number, has_method, has_result = bool(_NUMBER.search(text)), bool(_METHOD.search(text)), bool(_RESULT.search(text))
            rows.append(
                [
                    cosine,
                    cosine - best_cosine,
                    overlaps[at],
                    _share(held[at], idf),
                    overlaps[at] - max(overlaps),
                    at / max(1, last),
                    float(at == 0),
                    float(at == last),
                    hit.score / best_score,
                    float(number and has_number),
                    float(has_number),
                    float(method and has_method),
                    float(has_method),
                    float(link and bool(HAS_LINK.search(text))),
                    float(not link and bool(_ONLY_LINK.search(text))),
                    math.log(1 + len(text.split())),
                    float(bool(_OWN_WORK.search(text))),
                    float(has_result),
                    float(result and has_result),
                    float(bool(_BACKGROUND.search(text))),
                    float(why and bool(_TROUBLE.search(text))),
                ]
            )
        yield rows


@lru_cache(maxsize=4)
def fitted_selection(folder: Path | None = None) -> Selection:
    """The weights in ``folder``, if it has any, or those that ship with the program; the file says how they were fitted.

    Raises:
        SettingsError: no such folder, or a file that holds no weights.
    """
    parameters = read_parameters(PARAMETERS, folder)
    try:
        return Selection(float(parameters["intercept"]), {name: float(parameters["weights"][name]) for name in FEATURES})
    except (ValueError, KeyError, TypeError) as error:
        raise broken(PARAMETERS, folder, error) from None


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """Porter stems of the words of ``text``, as keyword search sees them."""
    return frozenset(_stem(word) for word in re.findall(r"[^\W_]+", search_text(text).lower()))


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(snowballstemmer.stemmer("porter").stemWord(word))


def _share(words: frozenset[str], idf: Mapping[str, float]) -> float:
    mass = sum(idf.values())
    return sum(idf[stem] for stem in words & idf.keys()) / mass if mass else 0.0
