"""The answerer without a language model: it quotes the sentences that answer, from the papers found best."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import snowballstemmer

from qa_bot.answer import Route
from vectorstore import Hit, Passage, Term
from vectorstore.text import search_text

_OVERLAP_WEIGHT = 0.5
_NUMBER_BONUS = 0.2
_LINK_BONUS = 1.0
_LINK_UNASKED = 0.3
_METHOD_BONUS = 0.1

_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|large|big|high|low|often|fast|quick|accurate|well|long)|what (?:percentage|number|share|fraction|rate|accuracy|score)|percent\w*|number of|scores?|rates?|accuracy|by what|threshold|improvement|quicker|faster|speed-?up)\b",
    re.I,
)
_ASKS_LINK = re.compile(r"\b(?:code|github|repo(?:sitory)?|implementation|link|url|download|documentation|docs|website|project page|open.?sourced?)\b", re.I)
_ASKS_METHOD = re.compile(
    r"^(?:how|describe|explain|what (?:are|were) the steps|which (?:training )?recipe)\b|\bhow (?:do|does|did|is|are|was|were|can)\b", re.I
)
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|eighteen|hundred|thousand|million|half|twice|double)\b", re.I)
_LINK = re.compile(r"https?://|www\.|\.github\.io|github\.com", re.I)
_ONLY_LINK = re.compile(
    r"^.{0,120}\b(?:code|data|dataset|model|page|repository|website|demo|weights)\b.{0,60}\b(?:available|found|at|released|is)\b.{0,80}(?:https?://|\.github\.io|github\.com)",
    re.I,
)
_METHOD = re.compile(
    r"\b(?:we (?:propose|introduce|present|develop|design|show how|combine|use|train)|our (?:method|approach|framework)|consists? of|leverag\w+|first\b.{0,80}\bthen)\b",
    re.I,
)

_BONUSES = ((_ASKS_NUMBER, _NUMBER, _NUMBER_BONUS), (_ASKS_LINK, _LINK, _LINK_BONUS), (_ASKS_METHOD, _METHOD, _METHOD_BONUS))

_FAR_BELOW = 0.4
_FAR_BELOW_A_FIGURE = 0.3
"""A sentence is left out if it scores this much less than the best one; a question for a figure needs fewer."""
_SECOND_PAPER = 0.6
"""A comparison quotes its second paper if its score reaches this share of the first's."""
_TOPIC_PAPER = 0.55
"""A topic answer names papers whose score reaches this share of the first's."""


def select(question: str, hits: Sequence[Hit], terms: Sequence[Term], *, route: Route, limit: int) -> list[Passage]:
    """At most ``limit`` sentences that answer ``question``, grouped by paper in rank order, within a paper in reading order."""
    if not hits:
        return []
    if route == "topic":
        relevant = [hit for hit in hits if hit.score >= _TOPIC_PAPER * hits[0].score][:limit]
        return [passage for hit in relevant for passage in _best(question, hit, terms, 1)]
    if route == "comparison" and len(hits) > 1 and hits[1].score >= _SECOND_PAPER * hits[0].score:
        share = max(1, limit // 2)
        return [passage for hit in hits[:2] for passage in _best(question, hit, terms, share)]
    return _best(question, hits[0], terms, limit)


def _best(question: str, hit: Hit, terms: Sequence[Term], limit: int) -> list[Passage]:
    scores = sentence_scores(question, hit, terms)
    if _ASKS_LINK.search(question) and any(_LINK.search(passage.text) for passage, _ in hit.passages):
        limit = 1
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:limit]
    margin = _FAR_BELOW_A_FIGURE if _ASKS_NUMBER.search(question) else _FAR_BELOW
    return [hit.passages[i][0] for i in sorted(order) if scores[i] >= scores[order[0]] - margin]


def sentence_scores(question: str, hit: Hit, terms: Sequence[Term]) -> list[float]:
    """How well each sentence of the paper answers the question, in the paper's order; comparable within one question.

    Cosine similarity, plus the share of the question's idf-weighted words that the sentence holds (words of the title
    don't count: every sentence is about them), plus a bonus for a figure, link or method where one is asked for, less
    something for "Code is available at …" where it isn't.
    """
    in_title = stems(hit.paper.title)
    wanted = {stem: term.idf for term in terms for stem in stems(term.word) if stem not in in_title}
    mass = sum(wanted.values())
    asks = [(pattern, bonus) for asked, pattern, bonus in _BONUSES if asked.search(question)]
    scores = []
    for passage, similarity in hit.passages:
        held = sum(wanted[stem] for stem in stems(passage.text) & wanted.keys())
        bonus = sum(bonus for pattern, bonus in asks if pattern.search(passage.text))
        if _ONLY_LINK.search(passage.text) and not _ASKS_LINK.search(question):
            bonus -= _LINK_UNASKED
        scores.append(similarity + (_OVERLAP_WEIGHT * held / mass if mass else 0.0) + bonus)
    return scores


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """Porter stems of the words of ``text``, as keyword search sees them."""
    return frozenset(_stem(word) for word in re.findall(r"[^\W_]+", search_text(text).lower()))


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(snowballstemmer.stemmer("porter").stemWord(word))
