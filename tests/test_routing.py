from __future__ import annotations

import pytest

from qa_bot.answer import Turn
from qa_bot.conversation import standalone_question
from qa_bot.routing import Routed, asks_count, name_candidates, route


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("", Routed("blank")),
        (" \n ?!… ", Routed("blank")),
        ("hi", Routed("greeting")),
        ("Hello there!", Routed("greeting")),
        ("thanks a lot!", Routed("thanks")),
        ("ok, thank you", Routed("thanks")),
        ("hi! know a good pizza place?", Routed("question")),
        ("Who wrote Monitoring Monitorability?", Routed("metadata", ("authors",))),
        ("authors of the scoring rule paper?", Routed("metadata", ("authors",))),
        ("Where was STAR published, and can I have the OpenReview link?", Routed("metadata", ("venue", "url"))),
        ("what's the exact title of the paper on circuits?", Routed("metadata", ("title",))),
        ("What did the authors of CaliDist find about ECE?", Routed("question")),
        ("According to the TELLME authors, what is wrong with monitors?", Routed("question")),
        ("Which papers are about watermarking?", Routed("topic")),
        ("papers on privacy", Routed("topic")),
        ("anything about calibration?", Routed("topic")),
        ("How does STREAM work?", Routed("question")),
        ("How do Spherical Steering and PrOSV differ?", Routed("comparison")),
        ("Compare watermarking by rephrasing with IACW", Routed("comparison")),
        ("What happens compared with an ordinary LLM?", Routed("question")),
        ("What is PersistBench?", Routed("question")),
    ],
)
def test_kinds_of_questions(question: str, expected: Routed) -> None:
    assert route(question) == expected


def test_counts_are_recognised() -> None:
    assert asks_count("How many of the papers are on privacy?")
    assert not asks_count("How many models does the paper test?")


def test_names_are_tried_longest_first_and_only_on_questions_of_authorship() -> None:
    assert name_candidates("papers by Han Liu") == ["papers by Han Liu", "papers by Han", "by Han Liu", "papers by", "by Han", "Han Liu"]
    assert name_candidates("What does Han Liu think?") == []


ASKED = (Turn("user", "What happens when L0 of a sparse autoencoder is too low?"), Turn("assistant", "It mixes features.", ("x",)))


@pytest.mark.parametrize(
    "question",
    [
        "and if it's set too high?",
        "who wrote it?",
        "What does that paper recommend?",
        "why?",
        "does that hold for every model?",
        "and the second one?",
        "how do they construct those prompts?",
    ],
)
def test_a_follow_up_brings_the_question_it_leans_on(question: str) -> None:
    assert standalone_question(question, ASKED) == f"What happens when L0 of a sparse autoencoder is too low? {question}"


@pytest.mark.parametrize(
    "question",
    [
        "Which papers are about watermarking?",
        "Which papers study protein folding?",
        "Is it possible that curation makes a model less aligned?",
        "What is TELLME?",
        "are there papers on fairness?",
    ],
)
def test_a_complete_question_is_left_alone(question: str) -> None:
    assert standalone_question(question, ASKED) == question


def test_a_chain_of_follow_ups_keeps_its_anchor() -> None:
    history = (*ASKED, Turn("user", "who wrote it?"), Turn("assistant", "X."))
    assert standalone_question("and its venue?", history) == "What happens when L0 of a sparse autoencoder is too low? who wrote it? and its venue?"
    assert standalone_question("and its venue?", ()) == "and its venue?"
