from __future__ import annotations

import pytest

from qa_bot.answer import Turn
from qa_bot.conversation import stand_alone_questions, standalone_question
from qa_bot.routing import Routed, asks_count, name_candidates, names_a_subject, route


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
        ("thanks for that, who wrote PersistBench?", Routed("metadata", ("authors",))),
        ("thanks for the help", Routed("thanks")),
        ("ok", Routed("thanks")),
        ("How does the watermark identify the author of a text?", Routed("question")),
        ("Which method made the authors of watermarks angry?", Routed("question")),
        ("Where is the watermark presented in the image?", Routed("question")),
        ("What year was the training data from in Hugging Carbon?", Routed("question")),
        ("What is the full name of ECE?", Routed("question")),
        ("What is the link to the EPSVec paper?", Routed("metadata", ("url",))),
        ("How does contrastive learning help debias CLIP prompts?", Routed("question")),
        ("What is the cost of each step in EPSVec?", Routed("question")),
        ("Explain how flow matching works on manifold data", Routed("question")),
        ("What works better than vector addition for steering?", Routed("question")),
    ],
)
def test_kinds_of_questions(question: str, expected: Routed) -> None:
    assert route(question) == expected


def test_counts_are_recognised() -> None:
    assert asks_count("How many of the papers are on privacy?")
    assert not asks_count("How many models does the paper test?")


def test_names_are_tried_longest_first_and_only_on_questions_of_authorship() -> None:
    assert name_candidates("by J. R. Smith's") == [
        (0, 16, "by J. R. Smith"),
        (0, 8, "by J. R."),
        (3, 16, "J. R. Smith"),
        (0, 5, "by J."),
        (3, 8, "J. R."),
        (6, 16, "R. Smith"),
    ]
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


def test_small_talk_in_between_is_passed_over() -> None:
    history = (*ASKED, Turn("user", "thanks!"), Turn("assistant", "You're welcome."))
    assert standalone_question("who wrote it?", history) == "What happens when L0 of a sparse autoencoder is too low? who wrote it?"


def test_both_readings_are_kept_where_only_the_opener_points_back() -> None:
    question = "So what is the carbon footprint of training?"
    assert stand_alone_questions(question, ASKED) == (question, f"{ASKED[0].content} {question}")


def test_long_turns_are_cut() -> None:
    assert len(standalone_question("who wrote it?", (Turn("user", "pebble " * 100_000),))) == 500 + len(" who wrote it?")


def test_a_chain_of_follow_ups_keeps_its_anchor() -> None:
    history = (*ASKED, Turn("user", "who wrote it?"), Turn("assistant", "X."))
    assert standalone_question("and its venue?", history) == "What happens when L0 of a sparse autoencoder is too low? who wrote it? and its venue?"
    assert standalone_question("and its venue?", ()) == "and its venue?"


@pytest.mark.parametrize(
    "question",
    [
        "clustering multi-view data when some views are missing for some samples (IMVC)",
        "hypernetworks which turn a document or context into weight updates",
        "machine learning for antibody sequences (language models, evolution, expression)?",
        "explainability outside of circuits: feature attributions, concept-based models?",
    ],
)
def test_a_subject_in_words_that_ask_nothing(question: str) -> None:
    assert names_a_subject(question)


@pytest.mark.parametrize(
    "question",
    [
        "If a model passes single-prompt safety tests, is it safe in a long chat as well?",
        "transformers: what swap brings back robust attributions?",
        "GPTQ or AWQ: which 4-bit quantization loses less perplexity?",
        "STREAM AIGV detector accuracy?",
        "PersistBench",
        "wouldn't providers lose money?",
        "How does it work",
    ],
)
def test_questions_are_no_subjects(question: str) -> None:
    assert not names_a_subject(question)


@pytest.mark.parametrize(
    "question", ["I'm collecting work on world models. List them.", "What is new on grokking?", "heuristic design with LLMs, what's there?"]
)
def test_more_ways_to_ask_for_papers(question: str) -> None:
    assert route(question).route == "topic"
