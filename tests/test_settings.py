from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from qa_bot.errors import SettingsError
from qa_bot.settings import Settings, load_settings


def test_defaults_need_no_environment(tmp_path: Path) -> None:
    assert load_settings().model_dump() == {
        "index": tmp_path / "data" / "qa-bot" / "index",
        "embedding_model": "all-MiniLM-L6-v2",
        "min_confidence": None,
        "max_sentences": 4,
        "learned": None,
        "model": None,
        "base_url": None,
        "timeout": 60.0,
        "context": 4096,
        "entailment": None,
        "cache": tmp_path / "cache" / "qa-bot",
        "host": "127.0.0.1",
        "port": 7860,
    }


def test_variables_set_fields_and_empty_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_BOT_INDEX", "/data/index")
    monkeypatch.setenv("QA_BOT_MIN_CONFIDENCE", "0.5")
    monkeypatch.setenv("QA_BOT_PORT", "")
    settings = load_settings()
    assert (settings.index, settings.min_confidence, settings.port) == (Path("/data/index"), 0.5, 7860)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QA_BOT_PORT", "http"),
        ("QA_BOT_MIN_CONFIDENCE", "1.5"),
        ("QA_BOT_MAX_SENTENCES", "0"),
        ("QA_BOT_BASE_URL", "localhost:8080"),
        ("QA_BOT_TIMEOUT", "0"),
        ("QA_BOT_CONTEXT", "100"),
    ],
)
def test_an_impossible_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=rf"^{name}='{value}': .*; unset it for the default$"):
        load_settings()
