"""An answer while it is written."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from qa_bot.answer import Answer
from qa_bot.errors import AnswerNotReady


class AnswerStream:
    """An answer as it is written: iterate for pieces of its text, then read :attr:`answer`."""

    def __init__(self, steps: Generator[str, None, Answer]) -> None:
        self._steps = steps
        self._answer: Answer | None = None

    def __iter__(self) -> Iterator[str]:
        self._answer = yield from self._steps

    @property
    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            AnswerNotReady: the stream hasn't been read to its end.
        """
        if self._answer is None:
            raise AnswerNotReady("the answer is complete only after its stream was read to the end; iterate over it first, or call ask()")
        return self._answer
