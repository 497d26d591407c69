"""What is learned came from the command and its inputs, and anybody can get it again."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from typing import Any

import pytest

from qa_bot.confidence import EXAMPLES, FEATURES, PARAMETERS
from qa_bot.evaluate import bundled_names, bundled_questions
from qa_bot.learned.fitting import Source, fit_confidence, gather, read_examples
from vectorstore import PaperIndex

LEARNED = resources.files("qa_bot.learned")
COMMITTED: dict[str, Any] = json.loads(LEARNED.joinpath(PARAMETERS).read_text("utf-8"))
STORED = LEARNED.joinpath(EXAMPLES).read_text("utf-8")


def test_the_committed_parameters_follow_from_the_committed_examples() -> None:
    provenance = COMMITTED["provenance"]
    again = fit_confidence(read_examples(STORED), folds=provenance["folds"], seed=provenance["seed"])
    assert again["weights"] == pytest.approx(COMMITTED["weights"], rel=1e-4)
    assert (again["intercept"], again["threshold"]) == pytest.approx((COMMITTED["intercept"], COMMITTED["threshold"]), rel=1e-4)
    assert again["provenance"]["held_out"] == provenance["held_out"]
    assert again["provenance"]["questions"] == provenance["questions"]


def test_the_committed_examples_are_those_that_were_fitted() -> None:
    assert hashlib.sha256(STORED.encode()).hexdigest() == COMMITTED["provenance"]["examples_sha256"]
    hashes = {f"{name}.jsonl": bundled_questions(name).sha256 for name in bundled_names()}
    assert {entry["name"]: entry["sha256"] for entry in COMMITTED["provenance"]["question_sets"]} == hashes
    assert {example.set for example in read_examples(STORED)} == set(hashes)


def test_the_committed_examples_follow_from_the_bundled_papers(index: PaperIndex) -> None:
    sources = [Source(index.folder, bundled_questions(name)) for name in ("seeds-dev", "seeds-dev-extra")]
    again = gather(sources)
    stored = [example for example in read_examples(STORED) if example.set.startswith("seeds")]
    assert [(e.set, e.id, e.answerable) for e in again] == [(e.set, e.id, e.answerable) for e in stored]
    # passages are embedded in bfloat16 where the processor has it, else in float32, which moves a cosine by up to 0.01
    assert [value for e in again for value in e.signals] == pytest.approx([value for e in stored for value in e.signals], abs=0.02)


def test_what_retrieval_cannot_tell_is_left_out(index: PaperIndex) -> None:
    questions = bundled_questions("seeds-dev-extra")
    used = {example.id for example in gather([Source(index.folder, questions)])}
    left_out = [question for question in questions if question.id not in used]
    assert {question.type for question in left_out if question.answerable} == {"count"}
    assert all(question.also_ok for question in left_out if not question.answerable)
    assert len(FEATURES) == 5
