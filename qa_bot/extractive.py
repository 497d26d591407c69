"""The answerer without a language model: it quotes the sentences that answer, from the papers found best."""

from __future__ import annotations

from collections.abc import Sequence

from qa_bot.answer import Route
from qa_bot.selection import ASKS_LINK, HAS_LINK, Selection, fitted_selection, stems
from vectorstore import Hit, Passage, Term

_FAR_BELOW = 4.0
"""A sentence is left out if its log-odds are this much less than the best one's (docs/answers.md)."""
_SECOND_PAPER = 0.6
"""A comparison quotes its second paper if its score reaches this share of the first's."""
_TOPIC_PAPER = 0.66
"""A topic answer names papers whose score reaches this share of the first's (docs/answers.md)."""
_TOPIC_PAPERS = 10


def select(question: str, hits: Sequence[Hit], terms: Sequence[Term], *, route: Route, limit: int, selection: Selection | None = None) -> list[Passage]:
    """At most ``limit`` sentences that answer ``question``, grouped by paper in rank order, within a paper in reading order.

    For a subject, one sentence of each of up to ten papers instead. ``selection`` scores the sentences; None takes the weights
    that ship with the program.
    """
    if not hits:
        return []
    selection = selection or fitted_selection()
    if route == "topic":
        chosen, share = [hit for hit in hits if hit.score >= _TOPIC_PAPER * hits[0].score][:_TOPIC_PAPERS], 1
    elif route == "comparison" and len(hits) > 1 and hits[1].score >= _SECOND_PAPER * hits[0].score:
        chosen, share = list(hits[:2]), max(1, limit // 2)
    else:
        chosen, share = list(hits[:1]), limit
    scores = selection.scores(question, hits, terms)
    return [passage for hit, scored in zip(chosen, scores, strict=False) for passage in _best(question, hit, scored, share)]


def _best(question: str, hit: Hit, scores: Sequence[float], limit: int) -> list[Passage]:
    linked = [at for at, (passage, _) in enumerate(hit.passages) if HAS_LINK.search(passage.text)]
    if ASKS_LINK.search(question) and linked:
        return [hit.passages[max(linked, key=lambda at: scores[at])][0]]
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:limit]
    return [hit.passages[at][0] for at in sorted(order) if scores[at] >= scores[order[0]] - _FAR_BELOW]


__all__ = ["select", "stems"]
