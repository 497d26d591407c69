from __future__ import annotations

import pytest

from vectorstore import PaperIndex


@pytest.mark.parametrize(
    ("question", "mended"),
    [
        ("papers on watermaking?", "papers on watermarking?"),
        ("what are the main moudles of it?", "what are the main modules of it?"),
        ("A brand new user with no histoory", "A brand new user with no history"),
        ("can ppl tell a decepttive chain apart", "can ppl tell a deceptive chain apart"),
        ("interp papers", "interpret papers"),
    ],
)
def test_slips_and_abbreviations_become_words_of_the_collection(index: PaperIndex, question: str, mended: str) -> None:
    assert index.corrected(question) == mended


@pytest.mark.parametrize(
    "question",
    [
        "What is PersistBench?",
        "Does any paper use LoRA?",  # a name that isn't there
        "How does STERAM work?",
        "speculative decoding with draft tokens",  # words that the collection lacks
        "lameness detection in dairy cows",
        "Can LLMs solve cryptic crosswords?",
        "gptq or awq",
        "see https://example.org/watermaking and foo_watermaking",
        "",
    ],
)
def test_names_and_words_that_exist_stay(index: PaperIndex, question: str) -> None:
    assert index.corrected(question) == question


def test_an_empty_collection_mends_nothing(small: PaperIndex) -> None:
    small.remove([paper.id for paper in small.papers()])
    assert small.corrected("papers on watermaking?") == "papers on watermaking?"


def test_words_added_later_are_known(small: PaperIndex) -> None:
    from conftest import paper

    assert small.corrected("which use holographyy?") == "which use holographyy?"
    small.add([paper("h", title="Holographic Shells", abstract="We use holography on shells. It works.")])
    assert small.corrected("which use holographyy?") == "which use holography?"
