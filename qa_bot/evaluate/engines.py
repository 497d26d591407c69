"""What can be evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from qa_bot.answer import Answer, Turn
from vectorstore import PaperIndex


class Engine(Protocol):
    """Anything that answers questions over an index of papers."""

    @property
    def engine(self) -> str:
        """Its name in tables."""

    @property
    def index(self) -> PaperIndex:
        """The papers it answers from."""

    def ask(self, question: str, *, history: Sequence[Turn]) -> Answer:
        """The answer to a question after the turns of ``history``, oldest first."""

    def warm(self) -> None:
        """Load everything that the first question would have to wait for."""


@runtime_checkable
class Adjustable(Engine, Protocol):
    """An engine that can answer from other indexes and with another threshold, which most stress suites need."""

    def over(self, index: PaperIndex, *, min_confidence: float | None = None) -> Self:
        """The same engine over ``index``; it declines below ``min_confidence``, or as before for None."""
