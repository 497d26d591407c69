"""The only door to chat models, and to models of entailment: messages in, pieces of text out."""

from __future__ import annotations

import logging
import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qa_bot.quiet import silence

silence()  # before LangChain reads the environment

from langchain.chat_models import init_chat_model  # noqa: E402
from langchain_core.language_models.chat_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage  # noqa: E402
from pydantic import SecretStr  # noqa: E402

from qa_bot.errors import LanguageModelError, SettingsError  # noqa: E402

if TYPE_CHECKING:
    from qa_bot.settings import Settings

log = logging.getLogger("qa_bot.language_model")

Message = tuple[Literal["system", "user", "assistant"], str]

_MESSAGES: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
_EXTRAS = {"langchain-openai": "openai", "langchain-anthropic": "anthropic", "langchain-google-genai": "google", "langchain-ollama": "ollama"}
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google_genai": "GOOGLE_API_KEY", "mistralai": "MISTRAL_API_KEY", "groq": "GROQ_API_KEY"}
_TIMED = frozenset({"openai", "azure_openai", "anthropic", "google_genai", "mistralai", "groq"})
"""Providers whose models take ``timeout`` and ``max_retries``; the others are watched from outside alone."""
_NO_KEY = "none"
"""What a server of one's own is sent in place of a key."""

_LONGEST = 20_000
"""Characters after which a model that doesn't stop is left."""
_PAUSES = (0.5, 2.0)
_UNREACHED = re.compile(r"Connect|Transport|Network|RemoteProtocol")
_HINTS = {401: " (check its key)", 403: " (check its key)", 404: " (check QA_BOT_MODEL)", 413: " (check QA_BOT_CONTEXT)"}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a model's answer, or the tokens that it counted, or both."""

    text: str
    usage: Mapping[str, int] | None = None


class LanguageModel:
    """A LangChain chat model with a time-out and retries. Threads may share it.

    Args:
        model: any chat model.
        timeout: longest silence, in seconds, before and between pieces.
        context: tokens of its window.
        pauses: seconds before each retry; connection errors, rate limits and errors of the server are tried again, others not.
    """

    def __init__(self, model: BaseChatModel, *, timeout: float = 60.0, context: int = 4096, pauses: Sequence[float] = _PAUSES) -> None:
        self.context = context
        self._model = model
        self._timeout = timeout
        self._pauses = tuple(pauses)

    def stream(self, messages: Sequence[Message]) -> Iterator[Piece]:
        """The model's answer as it comes, without its reasoning where the provider keeps that apart.

        Raises:
            LanguageModelError: it can't be reached, is silent too long, or fails; what came before stands.
        """
        prepared = [_MESSAGES[role](text) for role, text in messages]
        for pause in (*self._pauses, None):
            begun = False
            try:
                for piece in self._attempt(prepared):
                    begun = True
                    yield piece
                return
            except LanguageModelError as failure:
                if pause is None or begun or not failure.passing:
                    raise
                time.sleep(pause)

    def _attempt(self, messages: list[BaseMessage]) -> Iterator[Piece]:
        # in a thread of its own, since not every provider keeps to a time-out
        pieces: queue.Queue[Piece | Exception | None] = queue.Queue()
        left = threading.Event()
        threading.Thread(target=self._read, args=(messages, pieces, left), name="language model", daemon=True).start()
        try:
            while True:
                try:
                    piece = pieces.get(timeout=self._timeout)
                except queue.Empty:
                    raise LanguageModelError(f"it was silent for {self._timeout:g} seconds") from None
                if piece is None:
                    return
                if isinstance(piece, Exception):
                    raise self._failure(piece) from piece
                yield piece
        finally:
            left.set()

    def _read(self, messages: list[BaseMessage], pieces: queue.Queue[Piece | Exception | None], left: threading.Event) -> None:
        length = 0
        try:
            for chunk in self._model.stream(messages):
                text = _text(chunk.content)
                counted = getattr(chunk, "usage_metadata", None)
                pieces.put(Piece(text, {name: int(counted[name]) for name in ("input_tokens", "output_tokens")} if counted else None))
                length += len(text) + 1
                if left.is_set() or length > _LONGEST:
                    break
            pieces.put(None)
        except Exception as error:  # each provider has its own tree of errors; they are told apart where they are reported
            pieces.put(error)

    def _failure(self, error: Exception) -> LanguageModelError:
        log.warning("the language model failed: %s: %s", type(error).__name__, _one_line(error))
        kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
        status = _status(error)
        if status is not None:
            return LanguageModelError(f"it answered with error {status}{_HINTS.get(status, '')}", passing=status == 429 or status >= 500)
        if "Timeout" in kinds:
            return LanguageModelError(f"it was silent for {self._timeout:g} seconds")
        if _UNREACHED.search(kinds):
            return LanguageModelError("it can't be reached", passing=True)
        return LanguageModelError(f"it failed ({type(error).__name__})")


class EntailmentModel:
    """A sentence-transformers CrossEncoder for natural-language inference, from a folder or this machine's cache.

    Raises:
        SettingsError: not there, or it has no label for entailment.
    """

    def __init__(self, name: str) -> None:
        from sentence_transformers import CrossEncoder

        folder = Path(name).expanduser()
        try:
            self._model = CrossEncoder(
                str(folder) if folder.is_dir() else name, device="cpu", local_files_only=True, trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise SettingsError(
                f"QA_BOT_ENTAILMENT={name!r}: no model in that folder or on this machine ({_one_line(error)}); run: hf download {name}, or unset it"
            ) from None
        names = {int(number): str(label).lower() for number, label in self._model.config.id2label.items()}
        # a model with one label gives the probability of entailment itself
        self._label = next((number for number, label in names.items() if label.startswith("entail")), None) if len(names) > 1 else -1
        if self._label is None:
            raise SettingsError(
                f"QA_BOT_ENTAILMENT={name!r}: none of its labels {sorted(names.values())} is entailment; choose a model for inference, or unset it"
            )

    def __call__(self, premise: str, hypothesis: str) -> bool:
        """Whether ``premise`` entails ``hypothesis`` more probably than not, or more probably than anything else."""
        if self._label == -1:
            return float(self._model.predict([(premise, hypothesis)], show_progress_bar=False)[0]) >= 0.5
        scores = self._model.predict([(premise, hypothesis)], show_progress_bar=False)[0]
        return int(scores.argmax()) == self._label


def open_model(settings: Settings) -> LanguageModel:
    """The chat model that ``QA_BOT_MODEL`` and ``QA_BOT_BASE_URL`` name. Nothing is downloaded and no server is asked.

    Raises:
        SettingsError: no such provider, its package or key is missing; the message says what to do.
    """
    name = settings.model or ""
    if not name:
        raise SettingsError(f"QA_BOT_BASE_URL={settings.base_url!r} needs a model; set QA_BOT_MODEL to the name of one that this server has")
    provider, colon, bare = name.partition(":")
    options: dict[str, Any] = {}
    if settings.base_url and provider != "ollama":
        # a name may hold a colon itself, as in "qwen2.5:1.5b"
        name, provider = bare if colon and provider == "openai" else name, "openai"
        options = {"model_provider": provider, "base_url": settings.base_url, "temperature": 0, "use_responses_api": False}
    elif provider == "ollama":
        options = {"temperature": 0, "client_kwargs": {"timeout": settings.timeout}}
        if settings.base_url:
            options["base_url"] = settings.base_url.rstrip("/").removesuffix("/v1")
    if provider in _TIMED:
        options |= {"timeout": settings.timeout, "max_retries": 0}
    return LanguageModel(_opened(settings, name, provider, options), timeout=settings.timeout, context=settings.context)


def _opened(settings: Settings, name: str, provider: str, options: dict[str, Any]) -> BaseChatModel:
    shown = f"QA_BOT_MODEL={settings.model!r}"
    try:
        model = init_chat_model(name, **options)
    except ImportError as error:
        found = re.search(r"langchain-[\w-]*\w", str(error))
        package = found[0] if found else f"langchain-{provider.replace('_', '-')}"
        remedy = f"'qa-bot[{_EXTRAS[package]}]'" if package in _EXTRAS else package
        raise SettingsError(f"{shown} needs a package that is not installed; run: pip install {remedy}") from None
    except Exception as error:  # a provider may complain about its key with any error
        if options.get("base_url") and "api_key" not in options and "credentials" in str(error):
            return _opened(settings, name, provider, options | {"api_key": _NO_KEY})
        if re.search(r"api.?key|credential", str(error), re.I):
            raise SettingsError(f"{shown} needs a key; {_key_remedy(provider, str(error))}") from None
        if "model provider" in str(error) or "Unsupported provider" in str(error):
            raise SettingsError(
                f"{shown}: no provider is known by that; write provider:model, such as openai:…, anthropic:…, google_genai:… or ollama:…, "
                "or set QA_BOT_BASE_URL to an OpenAI-compatible server"
            ) from None
        raise SettingsError(f"{shown} can't be used ({_one_line(error)}); check it, or unset it to answer without a language model") from None
    if not isinstance(model, BaseChatModel):
        raise SettingsError(f"{shown} names no model; write provider:model")
    if any(field.endswith("api_key") and isinstance(value, SecretStr) and not value.get_secret_value() for field, value in model):
        raise SettingsError(f"{shown} needs a key; {_key_remedy(provider)}")
    return model


def _key_remedy(provider: str, complaint: str = "") -> str:
    named = re.search(r"\b[A-Z]+_API_KEY\b", complaint)
    variable = _KEYS.get(provider) or (named[0] if named else f"{provider.upper()}_API_KEY")
    return f"set {variable}, or QA_BOT_BASE_URL for a server of your own"


def _text(content: object) -> str:
    """Text of a message's content; its parts of other types are reasoning, tools and the like."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts if isinstance(part, str) or part.get("type") == "text")


def _status(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status <= 599:
                return status
    return None


def _one_line(error: Exception) -> str:
    # some providers repeat the key that they refuse
    return re.sub(r"\b(?:sk|key)-\S+", "…", " ".join(str(error).split())[:200]) or type(error).__name__
