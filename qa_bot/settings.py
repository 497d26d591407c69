"""All settings in one frozen object; the only reader of the environment (``QA_BOT_*``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from platformdirs import user_cache_path, user_data_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from qa_bot.errors import SettingsError


class Settings(BaseSettings):
    """What a user can set; each field is read from ``QA_BOT_`` plus its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="QA_BOT_", frozen=True, env_ignore_empty=True, extra="ignore")

    index: Path = Field(default_factory=lambda: user_data_path("qa-bot", appauthor=False) / "index")
    """Folder of the index."""
    embedding_model: str = "all-MiniLM-L6-v2"
    """The default model, a folder, or a sentence-transformers model name."""
    min_confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    """Refuse below this confidence; None takes the fitted threshold."""
    max_sentences: Annotated[int, Field(ge=1, le=20)] = 4
    """Most sentences quoted in an answer."""
    learned: Path | None = None
    """Folder of parameters that ``qa-bot fit`` wrote; None takes those that ship with the program."""
    model: str | None = None
    """Language model that writes the answers, as ``provider:model``; None quotes the abstracts instead."""
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    """Address of an OpenAI-compatible server that has the model."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Longest silence of the language model, in seconds."""
    context: Annotated[int, Field(ge=2048)] = 4096
    """Tokens of the language model's window."""
    entailment: str | None = None
    """Folder or name of a sentence-transformers CrossEncoder that must find each written sentence entailed; None does without."""
    cache: Path = Field(default_factory=lambda: user_cache_path("qa-bot", appauthor=False))
    """Folder for what can be computed again, such as the vectors of the evaluation's baselines."""
    host: str = "127.0.0.1"
    """Address that the web chat listens on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 7860
    """Port of the web chat; 0 lets the system choose."""


def load_settings() -> Settings:
    """Settings from the environment.

    Raises:
        SettingsError: names the variable, its value and what is allowed.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "QA_BOT_" + str(first["loc"][0]).upper()
        raise SettingsError(f"{name}={first['input']!r}: {first['msg'].lower()}; unset it for the default") from None
