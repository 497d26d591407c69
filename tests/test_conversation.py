"""Which papers a follow-up points at, and whether it points at all."""

from __future__ import annotations

import pytest

from qa_bot.answer import Turn
from qa_bot.conversation import asks_for_another, leans, paper_pointed_at, papers_shown

TITLES = {
    "a": "CaliDist: Calibrating Large Language Models via Behavioral Robustness to Distraction",
    "b": "When Planning Fails Despite Correct Execution: On Epistemic Calibration for LLM-Based Multi-Agent Systems",
    "c": "A Strictly Proper Scoring Rule",
    "d": "Shells",
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Two: A Strictly Proper Scoring Rule and CaliDist: Calibrating Large Language Models via Behavioral Robustness to Distraction.", ("c", "a")),
        ("1. when planning fails despite correct execution. 2. calidist", ("b", "a")),
        ("Weighing Shells is none of them, nor is SCalidist.", ("d",)),
        ("Nothing was found.", ()),
    ],
)
def test_titles_in_an_answer_are_the_papers_shown_in_order(text: str, shown: tuple[str, ...]) -> None:
    assert papers_shown([Turn("user", "?"), Turn("assistant", text)], TITLES) == shown


def test_the_last_answer_that_shows_papers_counts() -> None:
    history = [Turn("assistant", "x", ("c", "b")), Turn("user", "A Strictly Proper Scoring Rule?"), Turn("assistant", "You're welcome.")]
    assert papers_shown(history, TITLES) == ("c", "b")
    assert papers_shown([], TITLES) == ()


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("is there code for the second one?", ("y", "the second one")),
        ("what does the lower bound in the first one say?", ("x", "the first one")),
        ("What about the last paper?", ("z", "the last paper")),
        ("tell me about the latter", ("z", "the latter")),
        ("who wrote paper 3?", ("z", "paper 3")),
        ("and the fourth one?", None),
        ("What is the first scoring rule for censored data?", None),
        ("what's the second risk they name?", None),
        ("Who is the last author?", None),
    ],
)
def test_ordinals_mean_papers_in_the_order_shown(question: str, meant: tuple[str, str] | None) -> None:
    assert paper_pointed_at(question, ("x", "y", "z")) == meant


def test_an_ordinal_needs_several_papers() -> None:
    assert paper_pointed_at("is there code for the first one?", ("x",)) is None
    assert paper_pointed_at("is there code for the first one?", ()) is None


def test_another_paper_is_asked_for() -> None:
    assert asks_for_another("And the other paper that trains with GRPO, which metrics does it optimise?")
    assert not asks_for_another("What about the effect on the other models?")


@pytest.mark.parametrize(
    ("question", "leaning"),
    [
        ("spotting AI-made songs without ever training on generated audio, how would that work?", "no"),
        ("wouldn't providers lose money with that?", "yes"),
        ("how would that work?", "yes"),
    ],
)
def test_a_pointer_to_its_own_clause_needs_no_conversation(question: str, leaning: str) -> None:
    assert leans(question) == leaning
