"""Asking an engine, with each answer kept, so that an interrupted evaluation goes on where it was."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from qa_bot.answer import Answer, Turn
from qa_bot.errors import EvaluationError
from qa_bot.evaluate.engines import Engine

_ANSWER: TypeAdapter[Answer | None] = TypeAdapter(Answer | None)


@dataclass(frozen=True, slots=True)
class Asked:
    """An engine's answer, or its error in one line, and the seconds it took."""

    answer: Answer | None
    error: str
    seconds: float


class Journal:
    """Answers by engine, question and history; in memory, and in a file if one is named. Threads may share it.

    The file is JSON Lines: what was asked first, then one line an answer. Errors aren't kept: they are tried again.
    """

    def __init__(self, identity: Mapping[str, Any], file: Path | None = None) -> None:
        """A journal for one engine on one index, continued if the file exists.

        Raises:
            EvaluationError: the file belongs to another engine or index, is no journal, or can't be written.
        """
        self._kept: dict[str, Asked] = {}
        self._lock = threading.Lock()
        self._file = file
        if file is None:
            return
        try:
            if file.exists():
                self._read(file, identity)
            else:
                file.write_text(json.dumps({"journal": dict(identity)}) + "\n", "utf-8")
        except OSError as error:
            raise EvaluationError(f"{file}: the journal can't be used ({error.strerror}); name another file for --resume") from None

    def __len__(self) -> int:
        return len(self._kept)

    def ask(self, engine: Engine, question: str, history: Sequence[Turn] = (), *, label: str = "") -> Asked:
        """The engine's answer, from the journal if it was asked before. ``label`` tells the same engine on other indexes apart.

        Whatever the engine raises is the answer's error: a model that fails on one question must not end the run.
        """
        key = hashlib.sha256(json.dumps([label or engine.engine, question, [asdict(turn) for turn in history]]).encode()).hexdigest()[:32]
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        started = time.perf_counter()
        try:
            asked = Asked(engine.ask(question, history=history), "", time.perf_counter() - started)
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            return Asked(None, f"{type(error).__name__}: {text}" if text else type(error).__name__, time.perf_counter() - started)
        with self._lock:
            self._kept[key] = asked
            if self._file is not None:
                self._append(self._file, {"key": key, "seconds": asked.seconds, "answer": _ANSWER.dump_python(asked.answer, mode="json")})
        return asked

    def _read(self, file: Path, identity: Mapping[str, Any]) -> None:
        # a kill in the middle of a line leaves it without its end; it is cut off, and that question asked again
        whole, _, torn = file.read_bytes().rpartition(b"\n")
        if not whole and (not torn or torn.startswith(b'{"journal"')):
            file.write_text(json.dumps({"journal": dict(identity)}) + "\n", "utf-8")
            return
        try:
            first, *lines = [json.loads(line) for line in whole.decode("utf-8").split("\n")]
            then = first["journal"]
            self._kept = {line["key"]: Asked(_ANSWER.validate_python(line["answer"]), "", line["seconds"]) for line in lines}
        except (ValueError, KeyError, TypeError) as error:
            raise EvaluationError(f"{file}: is no journal of an evaluation ({type(error).__name__}); name another file for --resume") from None
        if then != dict(identity):
            differing = ", ".join(sorted(name for name in then.keys() | identity.keys() if then.get(name) != identity.get(name)))
            raise EvaluationError(f"{file}: was written for another engine or index ({differing} differs); name another file for --resume")
        if torn:
            file.write_bytes(whole + b"\n")

    def _append(self, file: Path, line: Mapping[str, Any]) -> None:
        try:
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise EvaluationError(f"{file}: the journal can't be written ({error.strerror})") from None
