from __future__ import annotations

import logging
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from chat_models import Replying, replying, serving

from qa_bot.errors import LanguageModelError, SettingsError
from qa_bot.language_model import EntailmentModel, LanguageModel, Message, Piece, open_model
from qa_bot.settings import Settings

ASKED: list[Message] = [("system", "Be {brief} %s."), ("user", "What is $\\frac{1}{2}$ of {x}?")]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def at(url: str, **fields: Any) -> LanguageModel:
    model = open_model(Settings(model="tiny:1b", base_url=url, **fields))
    model._pauses = (0.0, 0.0)
    return model


def text(model: LanguageModel) -> str:
    return "".join(piece.text for piece in model.stream(ASKED))


def test_messages_arrive_literally_and_the_answer_in_pieces() -> None:
    with serving("Two words.") as (url, server):
        assert text(at(url)) == "Two words."
    sent = server.requests[0]
    assert sent["messages"] == [{"role": "system", "content": "Be {brief} %s."}, {"role": "user", "content": "What is $\\frac{1}{2}$ of {x}?"}]
    assert (sent["model"], sent["stream"], sent["temperature"]) == ("tiny:1b", True, 0)
    assert server.keys == ["Bearer none"]


def test_a_key_that_is_set_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-my-server")
    with serving("Yes.") as (url, server):
        assert text(at(url)) == "Yes."
    assert server.keys == ["Bearer of-my-server"]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_passing_errors_are_tried_again(status: int) -> None:
    with serving(status, status, "Fine.") as (url, server):
        assert text(at(url)) == "Fine."
    assert len(server.requests) == 3


def test_a_lasting_error_ends_after_two_retries() -> None:
    with serving(500) as (url, server), pytest.raises(LanguageModelError, match=r"^it answered with error 500$"):
        text(at(url))
    assert len(server.requests) == 3


@pytest.mark.parametrize(("status", "hint"), [(400, ""), (401, " (check its key)"), (404, " (check QA_BOT_MODEL)"), (413, " (check QA_BOT_CONTEXT)")])
def test_errors_of_the_caller_are_not_tried_again(status: int, hint: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(status) as (url, server), caplog.at_level(logging.WARNING), pytest.raises(LanguageModelError) as caught:
        text(at(url))
    assert (str(caught.value), len(server.requests)) == (f"it answered with error {status}{hint}", 1)
    assert "the language model failed" in caplog.text
    assert "sk-secret" not in caplog.text


def test_a_silent_server_is_left_and_not_tried_again() -> None:
    with serving("<silent>") as (url, server), pytest.raises(LanguageModelError, match=r"^it was silent for 0.2 seconds$"):
        text(at(url, timeout=0.2))
    assert len(server.requests) == 1


def test_a_provider_that_keeps_to_no_time_out_is_watched() -> None:
    stuck = threading.Event()

    def reply(_: object) -> str:
        stuck.wait(30)
        return "Late."

    with pytest.raises(LanguageModelError, match=r"^it was silent for 0.05 seconds$"):
        text(LanguageModel(Replying(reply=reply, shown=[]), timeout=0.05))
    stuck.set()


def test_a_closed_port_is_tried_again_and_named() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(LanguageModelError, match=r"^it can't be reached$") as caught:
        text(at(f"http://127.0.0.1:{port}/v1"))
    assert caught.value.passing


def test_garbage_is_a_failure() -> None:
    with serving("<garbage>") as (url, _), pytest.raises(LanguageModelError, match=r"^it failed \(JSONDecodeError\)$"):
        text(at(url))


def test_an_answer_that_breaks_off_is_not_begun_again() -> None:
    seen = []
    with serving("<cut>") as (url, server), pytest.raises(LanguageModelError):  # noqa: PT012
        for piece in at(url).stream(ASKED):
            seen.append(piece.text)
    assert ("".join(seen), len(server.requests)) == ("The count is 42 [2]. Another ", 1)


def test_a_model_that_never_stops_is_left() -> None:
    assert len("".join(piece.text for piece in LanguageModel(replying("a" * 50_000)).stream(ASKED))) < 20_001


def test_only_text_parts_are_read_and_tokens_are_counted() -> None:
    parts = [{"type": "reasoning", "text": "hidden"}, {"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": "Shown."}, " Too."]
    model = replying(parts, usage={"input_tokens": 7, "output_tokens": 2})
    pieces = [piece for piece in LanguageModel(model).stream(ASKED) if piece.text or piece.usage]
    assert pieces == [Piece("Shown. Too."), Piece("", {"input_tokens": 7, "output_tokens": 2})]
    assert [(message.type, message.content) for message in model.shown[0]] == [("system", ASKED[0][1]), ("human", ASKED[1][1])]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai:gpt-x", "QA_BOT_MODEL='openai:gpt-x' needs a key; set OPENAI_API_KEY, or QA_BOT_BASE_URL for a server of your own"),
        ("gpt-4o", "QA_BOT_MODEL='gpt-4o' needs a key; set OPENAI_API_KEY, or QA_BOT_BASE_URL for a server of your own"),
        (
            "nobody:x",
            "QA_BOT_MODEL='nobody:x': no provider is known by that; write provider:model, such as openai:…, anthropic:…, google_genai:… or ollama:…, "
            "or set QA_BOT_BASE_URL to an OpenAI-compatible server",
        ),
        ("mistralai:x", "QA_BOT_MODEL='mistralai:x' needs a package that is not installed; run: pip install langchain-mistralai"),
    ],
)
def test_wrong_settings_are_named_with_the_remedy(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_model(Settings(model=name))
    assert (str(caught.value), caught.value.usage) == (message, True)


@pytest.mark.parametrize(("provider", "extra"), [("anthropic", "anthropic"), ("google_genai", "google"), ("ollama", "ollama")])
def test_a_missing_extra_is_named(provider: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("langchain_anthropic", "langchain_google_genai", "langchain_ollama"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError) as caught:
        open_model(Settings(model=f"{provider}:m"))
    assert str(caught.value) == f"QA_BOT_MODEL='{provider}:m' needs a package that is not installed; run: pip install 'qa-bot[{extra}]'"


def test_a_server_needs_a_model() -> None:
    with pytest.raises(SettingsError, match=r"^QA_BOT_BASE_URL='http://127.0.0.1:1/v1' needs a model; set QA_BOT_MODEL"):
        open_model(Settings(base_url="http://127.0.0.1:1/v1"))


def entailment(folder: Path, labels: list[str], bias: list[float]) -> EntailmentModel:
    """A tiny cross-encoder whose verdict is the largest bias, whatever it reads."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from vectorstore.embedding import default_folder

    tokenizer = AutoTokenizer.from_pretrained(str(default_folder()), local_files_only=True)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(tokenizer), id2label=dict(enumerate(labels)), label2id={label: n for n, label in enumerate(labels)}, **shape)
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor(bias))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return EntailmentModel(str(folder))


@pytest.mark.parametrize(
    ("labels", "bias", "entailed"),
    [
        (["contradiction", "entailment", "neutral"], [0.0, 1.0, 0.5], True),
        (["contradiction", "entailment", "neutral"], [0.0, 0.4, 0.5], False),
        (["entailed"], [2.0], True),
        (["entailed"], [-2.0], False),
    ],
)
def test_an_entailment_model_from_a_folder(tmp_path: Path, labels: list[str], bias: list[float], entailed: bool) -> None:
    assert entailment(tmp_path, labels, bias)("Bees dance.", "They dance.") is entailed


def test_models_that_cannot_tell_entailment_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none of its labels \['a', 'b'\] is entailment"):
        entailment(tmp_path, ["a", "b"], [0.0, 1.0])
    with pytest.raises(SettingsError, match=r"^QA_BOT_ENTAILMENT='no/such-model': no model in that folder or on this machine"):
        EntailmentModel("no/such-model")
