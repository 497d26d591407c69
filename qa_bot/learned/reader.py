"""The reader: the default embedding model's weights, trained further to say how well each sentence of an abstract answers a question.

It is a cross-encoder over whole abstracts: question, title and sentences go in together, so "it" and "this method" have what they
stand for beside them. A sentence is scored from the mean of its tokens and of the question's, the paper likewise. What
ships are the changes to the installed weights, in four bits a weight and a scale a row, and two small heads; they are added at load.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qa_bot.errors import SettingsError
from vectorstore.embedding import default_folder

if TYPE_CHECKING:
    import torch

WEIGHTS = "reader.safetensors"
DESCRIPTION = "reader.json"

MAX_TOKENS = 512
"""Tokens the model can see at once; longer abstracts are read in parts, each with question and title."""
MAX_QUESTION_TOKENS, MAX_TITLE_TOKENS, MAX_SENTENCE_TOKENS = 100, 60, 160


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader makes of one paper, as log-odds, about -10 to 10: that it answers the question, and that each sentence does."""

    paper: float
    sentences: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids and segments of one pass, and the sentences in it as ``(number, start, end)`` in tokens."""

    ids: list[int]
    segments: list[int]
    spans: list[tuple[int, int, int]]


class Reader:
    """Reads abstracts for a question. Loaded at first use; threads may share it.

    Args:
        folder: where ``reader.safetensors`` and ``reader.json`` are; None takes those that ship with the program.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def read(self, question: str, papers: Sequence[tuple[str, Sequence[str]]]) -> list[Reading]:
        """A reading of each paper, given as its title and the sentences of its abstract.

        Raises:
            SettingsError: the weights are missing or altered.
        """
        import torch

        with self._lock:
            tokens, model = self._loaded
        windows = [(at, window) for at, (title, sentences) in enumerate(papers) for window in tokens.windows(question, title, sentences)]
        scores = [[-10.0] * len(sentences) for _, sentences in papers]
        best = [-10.0] * len(papers)
        with torch.inference_mode():
            found = run(model, [window for _, window in windows])
        for (at, window), (paper, sentences) in zip(windows, found, strict=True):
            best[at] = max(best[at], float(paper))
            for (number, _, _), score in zip(window.spans, sentences.tolist(), strict=True):
                scores[at][number] = score
        return [Reading(paper, tuple(sentences)) for paper, sentences in zip(best, scores, strict=True)]

    @cached_property
    def _loaded(self) -> tuple[Tokens, Any]:
        import torch
        from safetensors.torch import load

        home = resources.files("qa_bot.learned") if self._folder is None else self._folder.expanduser()
        try:
            description = json.loads(home.joinpath(DESCRIPTION).read_text("utf-8"))
            data = home.joinpath(WEIGHTS).read_bytes()
        except (OSError, ValueError) as error:
            raise SettingsError(f"the reader in {home} can't be read ({type(error).__name__}); set QA_BOT_READER=off to answer without it") from None
        if hashlib.sha256(data).hexdigest() != description["sha256"]:
            raise SettingsError(f"{home / WEIGHTS} is not the file that {DESCRIPTION} describes; install the program again, or set QA_BOT_READER=off")
        tokens, model = base()
        add_changes(model, load(data))
        model.eval()
        abilities = torch.cpu.get_capabilities()
        if abilities.get("avx512_bf16") or abilities.get("amx_bf16"):
            model = model.to(torch.bfloat16)
        return tokens, model


class Tokens:
    """The default model's tokenizer, as the reader uses it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.padding: int = tokenizer.pad_token_id
        self._of = lru_cache(maxsize=32768)(self._encode)

    def _encode(self, text: str, most: int) -> tuple[int, ...]:
        found = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"][:most]
        return tuple(found) or (self._tokenizer.unk_token_id,)

    def windows(self, question: str, title: str, sentences: Sequence[str]) -> list[Window]:
        """As many passes as the paper needs: question and title, then as many sentences as fit."""
        separator = self._tokenizer.sep_token_id
        asked = [self._tokenizer.cls_token_id, *self._of(question, MAX_QUESTION_TOKENS), separator]
        named = self._of(title, MAX_TITLE_TOKENS)
        found: list[Window] = []
        for number, sentence in enumerate(sentences):
            tokens = self._of(sentence, MAX_SENTENCE_TOKENS)
            if not found or len(found[-1].ids) + len(tokens) >= MAX_TOKENS:
                found.append(Window([*asked, *named], [0] * len(asked) + [1] * len(named), []))
            window = found[-1]
            start = len(window.ids)
            window.ids.extend(tokens)
            window.segments.extend([1] * len(tokens))
            window.spans.append((number, start, len(window.ids)))
        for window in found:
            window.ids.append(separator)
            window.segments.append(1)
        return found


def base(seed: int = 0, dropout: float = 0.0) -> tuple[Tokens, Any]:
    """Tokenizer and an untrained reader: the default model's encoder, and two heads drawn with ``seed``."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    def head(size: int, width: int) -> torch.nn.Sequential:
        parts = (torch.nn.Dropout(dropout), torch.nn.Linear(size, width), torch.nn.GELU(), torch.nn.Dropout(dropout), torch.nn.Linear(width, 1))
        return torch.nn.Sequential(*parts)

    class Scorer(torch.nn.Module):
        def __init__(self, encoder: Any) -> None:
            super().__init__()
            self.encoder = encoder
            width = encoder.config.hidden_size
            self.sentence, self.paper = head(3 * width, width), head(3 * width, width)
            self.cosine = torch.nn.Parameter(torch.tensor(10.0))

        def forward(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor, spans: Sequence[tuple[int, int, int]]) -> tuple[Any, Any]:
            hidden = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
            asked = unit(mean(hidden, mask - segments))
            told = unit(mean(hidden, segments))
            sentences = unit(torch.stack([hidden[row, start:end].mean(0) for row, start, end in spans]))
            about = asked[[row for row, _, _ in spans]]
            return self._score(self.sentence, sentences, about), self._score(self.paper, told, asked)

        def _score(self, head: Any, told: Any, asked: Any) -> Any:
            # the cosine is what the installed weights were trained for: from it training starts with a ranking that is good already
            products = told * asked
            return head(torch.cat((products * 400, told * 20, asked * 20), -1)).squeeze(-1) + self.cosine * products.sum(-1)

    def mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(1) / weights.sum(1)

    def unit(vectors: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(vectors, dim=-1)

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    folder = str(default_folder())
    torch.manual_seed(seed)
    encoder = AutoModel.from_pretrained(folder, local_files_only=True, trust_remote_code=False, use_safetensors=True)
    return Tokens(AutoTokenizer.from_pretrained(folder, local_files_only=True)), Scorer(encoder)


def run(model: Any, windows: Sequence[Window], *, batch: int = 4) -> list[tuple[Any, Any]]:
    """For each window the log-odds of its paper, a number, and of its sentences, shape ``(sentences,)``, as tensors.

    ``batch`` windows of like lengths go through at once: more of them only add padding on two cores.
    """
    import torch

    order = sorted(range(len(windows)), key=lambda at: len(windows[at].ids))
    found: list[Any] = [None] * len(windows)
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        longest = max(len(windows[at].ids) for at in part)

        def padded(values: list[int], longest: int = longest) -> list[int]:
            return values + [0] * (longest - len(values))

        ids = torch.tensor([padded(windows[at].ids) for at in part])
        segments = torch.tensor([padded(windows[at].segments) for at in part])
        mask = torch.tensor([padded([1] * len(windows[at].ids)) for at in part])
        spans = [(row, start, end) for row, at in enumerate(part) for _, start, end in windows[at].spans]
        scores, papers = model(ids, segments, mask, spans)
        split = scores.float().split([len(windows[at].spans) for at in part])
        for at, paper, sentences in zip(part, papers.float(), split, strict=True):
            found[at] = (paper, sentences)
    return found


def changed(model: Any) -> dict[str, Any]:
    """The parameters that training changes, by name: all but the embeddings of words and places."""
    return {name: parameter for name, parameter in model.named_parameters() if ".embeddings." not in name}


def add_changes(model: Any, tensors: dict[str, Any]) -> None:
    """Add what :func:`packed` made to a model of :func:`base`; heads are replaced."""
    import torch

    with torch.no_grad():
        for name, parameter in changed(model).items():
            if f"{name}.nibbles" in tensors:
                parameter += unpacked(tensors[f"{name}.nibbles"], tensors[f"{name}.scale"])
            elif name.startswith("encoder."):
                parameter += tensors[name].float()
            else:
                parameter.copy_(tensors[name].float())


def packed(change: Any) -> tuple[Any, Any]:
    """A matrix in four bits a weight: two to a byte, shape ``(rows, columns / 2)``, and a half-precision scale a row."""
    import torch

    scale = _best_scale(change).half()
    levels = (change / scale.float().clamp(min=1e-12)[:, None]).round().clamp(-8, 7).to(torch.int16) + 8
    return (levels[:, ::2] * 16 + levels[:, 1::2]).to(torch.uint8), scale


def unpacked(nibbles: Any, scale: Any) -> Any:
    """The matrix that :func:`packed` packed, rounded."""
    import torch

    levels = torch.stack((nibbles // 16, nibbles % 16), dim=-1).flatten(1).float() - 8
    return levels * scale.float()[:, None]


def _best_scale(change: Any) -> Any:
    """For each row the scale, of a few, that rounds it with the least squared error; the largest weight alone would waste levels."""
    import torch

    largest = change.abs().amax(1)
    tried = torch.stack([largest * share / 7 for share in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)])
    errors = torch.stack([((change / s.clamp(min=1e-12)[:, None]).round().clamp(-8, 7) * s[:, None] - change).square().sum(1) for s in tried])
    return tried.gather(0, errors.argmin(0, keepdim=True))[0]
