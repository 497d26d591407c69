"""Trains the reader from questions with their evidence sentences, and writes it with its provenance.

Each question is shown with its paper and with two others of the best found. The loss is binary for each sentence and paper, plus
a softmax over the sentences and one over the papers of a question. A near-miss (the paper is there, the detail isn't) has no
evidence, so the reader also learns to find nothing; for one question in four the evidence is taken out of the abstract, which
makes such a near-miss of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from qa_bot.errors import EvaluationError
from qa_bot.learned.evidence import Evidence, best_matches, words
from qa_bot.learned.reader import DESCRIPTION, WEIGHTS, Tokens, Window, base, changed, packed, run
from vectorstore import Embedder, PaperIndex

EPOCHS = 3
QUESTIONS_A_STEP = 4
OTHERS = 2
"""Other papers that a question is shown with, drawn from the five best found."""
TAKEN_OUT = 0.25
TYPED_CARELESSLY = 0.3
"""Share of questions shown in lower case and without their question mark."""
DROPOUT = 0.1
_RATE, _HEAD_RATE, _WARM_UP, _LEAST_RATE = 2e-4, 1e-3, 0.06, 0.02
_EVIDENCE_WEIGHT, _PAPER_WEIGHT = 3.0, 2.0
_PAPER_LOSS, _PAPERS_LOSS = 0.5, 0.3

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Shown:
    """A paper as the reader is shown it: title, sentences, and whether each is evidence."""

    title: str
    sentences: tuple[str, ...]
    evidence: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question with its own paper and with others, best found first."""

    question: str
    own: Shown
    others: tuple[Shown, ...]


def lessons(questions: Sequence[Evidence], index: PaperIndex, *, progress: Progress | None = None) -> list[Lesson]:
    """What the reader is shown for each question whose paper is in the index."""
    found = []
    papers = index.get(sorted({question.paper for question in questions}))
    for done, question in enumerate(questions, start=1):
        if paper := papers.get(question.paper):
            sentences = tuple(passage.text for passage in paper.passages)
            marks = best_matches([words(text) for text in sentences], [words(text) for text in (*question.evidence, *question.also_evidence)])
            hits = [hit for hit in index.search(question.question, k=6).hits if hit.paper.id != paper.id]
            others = tuple(Shown(hit.paper.title, tuple(p.text for p, _ in hit.passages), (False,) * len(hit.passages)) for hit in hits[:5])
            found.append(Lesson(question.question, Shown(paper.title, sentences, tuple(at in marks for at in range(len(sentences)))), others))
        if progress:
            progress(done, len(questions))
    return found


def train(taught: Sequence[Lesson], *, epochs: int = EPOCHS, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """The changes to the base model's weights, by name, as the file holds them. The same lessons and seed give the same up to rounding."""
    import torch

    tokens, model = base(seed, DROPOUT)
    before = {name: parameter.detach().clone() for name, parameter in changed(model).items()}
    model.encoder.embeddings.requires_grad_(requires_grad=False)
    model.train()
    encoder, heads = ([p for name, p in changed(model).items() if name.startswith("encoder.") == wanted] for wanted in (True, False))
    optimizer = torch.optim.AdamW([{"params": encoder, "lr": _RATE}, {"params": heads, "lr": _HEAD_RATE}], weight_decay=0.01)
    steps = epochs * math.ceil(len(taught) / QUESTIONS_A_STEP)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / (_WARM_UP * steps)) * max(_LEAST_RATE, 1 - step / steps))
    draw = random.Random(seed)  # noqa: S311
    done = 0
    for _ in range(epochs):
        order = draw.sample(range(len(taught)), len(taught))
        for at in range(0, len(order), QUESTIONS_A_STEP):
            batch = [_drawn(taught[i], draw) for i in order[at : at + QUESTIONS_A_STEP]]
            optimizer.zero_grad()
            _loss(model, tokens, batch).backward()
            torch.nn.utils.clip_grad_norm_(encoder + heads, 1.0)
            optimizer.step()
            schedule.step()
            done += 1
            if progress:
                progress(done, steps)
    return stored(before, {name: parameter.detach() for name, parameter in changed(model).items()})


def stored(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The tensors of the weights file: what :func:`qa_bot.learned.reader.add_changes` adds to ``before`` to come near ``after``."""
    tensors = {}
    for name, parameter in after.items():
        change = parameter - before[name] if name.startswith("encoder.") else parameter
        if change.ndim == 2 and change.shape[0] > 1:
            tensors[f"{name}.nibbles"], tensors[f"{name}.scale"] = packed(change)
        else:
            tensors[name] = change.half()
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def write_reader(tensors: dict[str, Any], source: Path, folder: Path, *, questions: int, papers: int, epochs: int, seed: int) -> dict[str, Any]:
    """Write weights and their description, which is returned, into ``folder``."""
    from safetensors.torch import save

    data = save(tensors)
    description = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "provenance": {
            "command": "qa-bot fit reader",
            "date": date.today().isoformat(),
            "base_sha256": Embedder().fingerprint.weights_sha256,
            "method": "cross-encoder over whole abstracts, all layers trained but the embeddings; changes stored in four bits",
            "questions": {"name": source.name, "sha256": hashlib.sha256(source.read_bytes()).hexdigest(), "used": questions, "papers": papers},
            "epochs": epochs,
            "seed": seed,
        },
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WEIGHTS).write_bytes(data)
        (folder / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise EvaluationError(f"{folder}: can't be written ({error.strerror}); name another folder with --out") from None
    return description


def _drawn(lesson: Lesson, draw: random.Random) -> tuple[str, list[Shown]]:
    own = lesson.own
    if any(own.evidence) and draw.random() < TAKEN_OUT:
        kept = tuple(text for text, evidence in zip(own.sentences, own.evidence, strict=True) if not evidence)
        if len(kept) > 2:
            own = Shown(own.title, kept, (False,) * len(kept))
    others = draw.sample(lesson.others, min(OTHERS, len(lesson.others)))
    question = lesson.question.lower().rstrip("?.! ") if draw.random() < TYPED_CARELESSLY else lesson.question
    return question, [own, *others]


def _loss(model: Any, tokens: Tokens, batch: Sequence[tuple[str, Sequence[Shown]]]) -> Any:
    import torch
    from torch.nn import functional

    windows: list[Window] = []
    labels: list[list[float]] = []
    answers: list[float] = []
    first: list[int] = []  # where each question's windows begin; an abstract beyond one window is cut
    for question, papers in batch:
        first.append(len(windows))
        for paper in papers:
            window = tokens.windows(question, paper.title, paper.sentences)[0]
            windows.append(window)
            labels.append([float(paper.evidence[number]) for number, _, _ in window.spans])
            answers.append(float(any(paper.evidence)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = run(model, windows)
    sentences = [scores for _, scores in found]
    papers_ = torch.stack([paper for paper, _ in found])
    marks = torch.tensor([mark for row in labels for mark in row])
    loss = functional.binary_cross_entropy_with_logits(torch.cat(sentences), marks, pos_weight=torch.tensor(_EVIDENCE_WEIGHT))
    loss = loss + _PAPER_LOSS * functional.binary_cross_entropy_with_logits(papers_, torch.tensor(answers), pos_weight=torch.tensor(_PAPER_WEIGHT))
    for start, end in zip(first, [*first[1:], len(windows)], strict=True):
        mine = torch.tensor([mark for row in labels[start:end] for mark in row])
        if mine.sum() > 0:
            chances = functional.log_softmax(torch.cat(sentences[start:end]), 0)
            loss = loss - (chances * mine).sum() / mine.sum() / len(batch)
            loss = loss - _PAPERS_LOSS * functional.log_softmax(papers_[start:end], 0)[0] / len(batch)
    return loss
