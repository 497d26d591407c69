"""Scores the bot's answers against a set of test questions; needs no key and no judge model."""

from qa_bot.evaluate.baselines import BASELINES
from qa_bot.evaluate.engines import Adjustable, Engine
from qa_bot.evaluate.questions import Question, QuestionSet, bundled_names, bundled_questions, load_questions
from qa_bot.evaluate.report import Report, Run, Scored, Trial
from qa_bot.evaluate.runner import evaluate
from qa_bot.evaluate.statistics import Estimate
from qa_bot.evaluate.suites import SUITES

__all__ = [
    "BASELINES",
    "SUITES",
    "Adjustable",
    "Engine",
    "Estimate",
    "Question",
    "QuestionSet",
    "Report",
    "Run",
    "Scored",
    "Trial",
    "bundled_names",
    "bundled_questions",
    "evaluate",
    "load_questions",
]
