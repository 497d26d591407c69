"""Scores the bot's answers against a set of test questions; needs no key and no judge model."""

from qa_bot.evaluate.questions import Question, bundled_questions, load_questions
from qa_bot.evaluate.runner import Report, Scored, evaluate

__all__ = ["Question", "Report", "Scored", "bundled_questions", "evaluate", "load_questions"]
