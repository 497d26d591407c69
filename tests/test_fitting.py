"""What is learned came from the command and its inputs, and anybody can get it again."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, write_jsonl

from qa_bot.confidence import EXAMPLES, FEATURES, PARAMETERS
from qa_bot.evaluate import bundled_names, bundled_questions
from qa_bot.learned.evidence import words
from qa_bot.learned.fitting import Source, fit_confidence, gather, read_examples
from qa_bot.learned.sentence_fitting import fit_selection, read_sentences
from vectorstore import Embedder, PaperIndex

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


def test_the_committed_sentence_weights_follow_from_the_committed_examples() -> None:
    committed = json.loads(LEARNED.joinpath("selection.json").read_text("utf-8"))
    data = LEARNED.joinpath("selection-examples.npz").read_bytes()
    assert hashlib.sha256(data).hexdigest() == committed["provenance"]["examples_sha256"]
    again = fit_selection(read_sentences(data), folds=committed["provenance"]["folds"])
    assert again["weights"] == pytest.approx(committed["weights"], rel=1e-3, abs=1e-3)
    assert again["intercept"] == pytest.approx(committed["intercept"], rel=1e-3)
    assert again["provenance"]["held_out"] == pytest.approx(committed["provenance"]["held_out"], abs=0.002)


def test_sentence_weights_are_fitted_from_a_file_of_evidence(run: Run, folder: Path, tmp_path: Path) -> None:
    rows = [
        {"id": question.id, "question": question.question, "paper": question.papers[0], "evidence": [sentence]}
        for question in bundled_questions()
        if len(question.papers) == 1 and not question.history
        for sentence in [_nearest(question.papers[0], question.answer, folder)]
    ]
    file = write_jsonl(tmp_path / "evidence.jsonl", [*rows, {"id": "near", "question": "?", "paper": rows[0]["paper"]}])
    code, _, _ = run("fit", "sentences", str(file), "--folds", "3", "--out", str(tmp_path / "mine"))
    fitted = json.loads((tmp_path / "mine" / "selection.json").read_text())
    assert (code, set(fitted["provenance"]["held_out"])) == (0, {f"evidence_recall@{k}" for k in (1, 2, 3, 4)})
    # of about seven sentences a paper, chance would find half of the evidence among four
    assert fitted["provenance"]["held_out"]["evidence_recall@4"] > 0.8
    file.write_text('{"id": "x"}\n')
    assert run("fit", "sentences", str(file))[2].startswith(f"qa-bot: {file}:1: question: field required")
    assert run("fit", "sentences", "a", "b")[2] == "qa-bot: qa-bot fit sentences takes one file of questions with evidence\n"


def _nearest(paper_id: str, answer: str, folder: Path) -> str:
    with PaperIndex(folder, Embedder()) as index:
        passages = index.get([paper_id])[paper_id].passages
    return max(passages, key=lambda passage: len(words(answer) & words(passage.text))).text
