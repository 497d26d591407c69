"""Ask questions about research papers and get cited answers. Names are loaded at first use, so that importing stays quick."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qa_bot.answer import Answer, Citation, Quote, Sentence, Turn
    from qa_bot.bot import AnswerStream, PaperBot, ask
    from qa_bot.errors import QABotError, QuestionError
    from qa_bot.settings import Settings
    from vectorstore import Filters, StoreError

_HOMES = {
    "Answer": "qa_bot.answer",
    "AnswerStream": "qa_bot.bot",
    "Citation": "qa_bot.answer",
    "Filters": "vectorstore",
    "PaperBot": "qa_bot.bot",
    "QABotError": "qa_bot.errors",
    "QuestionError": "qa_bot.errors",
    "Quote": "qa_bot.answer",
    "Sentence": "qa_bot.answer",
    "Settings": "qa_bot.settings",
    "StoreError": "vectorstore",
    "Turn": "qa_bot.answer",
    "ask": "qa_bot.bot",
}

__all__ = [
    "Answer",
    "AnswerStream",
    "Citation",
    "Filters",
    "PaperBot",
    "QABotError",
    "QuestionError",
    "Quote",
    "Sentence",
    "Settings",
    "StoreError",
    "Turn",
    "ask",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'qa_bot' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
