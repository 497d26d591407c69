"""What can go wrong when asking, as a short tree; the store's own is in ``vectorstore.errors``.

QABotError
├── QuestionError       a question that can't be searched, such as one of 50,000 characters
├── SettingsError       a QA_BOT_* variable with an impossible value
├── QuestionSetError    a file of test questions can't be used
├── LanguageModelError  the language model can't be reached, is silent, or fails; answers fall back to quoting
├── EvaluationError     an evaluation can't run, or its report can't be read or written
└── AnswerNotReady      ``AnswerStream.answer`` was read before the stream ended
"""

from __future__ import annotations

MAX_QUESTION_CHARS = 4000
"""Longest question that is searched; a pasted abstract still fits."""


class QABotError(Exception):
    """Base of the bot's expected failures. ``usage`` is true if the caller asked for something impossible."""

    usage = False


class QuestionError(QABotError):
    """The question can't be searched."""

    usage = True


class SettingsError(QABotError):
    """A setting has an impossible value."""

    usage = True


class QuestionSetError(QABotError):
    """A file of test questions can't be used."""


class LanguageModelError(QABotError):
    """The language model can't be reached, is silent, or fails. ``passing`` is true if another attempt may succeed."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class EvaluationError(QABotError):
    """An evaluation can't run, or its report can't be read or written."""


class AnswerNotReady(QABotError, RuntimeError):
    """Mistake in the calling code: the answer of a stream exists only after its last piece was read."""
