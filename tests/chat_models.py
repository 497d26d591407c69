"""Chat models for tests: one that is a function of the messages shown to it, and a server that speaks the chat-completions protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

Content = str | list[Any] | tuple[str | Exception, ...]
"""What a model answers: a text, a list of parts, or pieces that come one by one, of which errors are raised."""


class Replying(BaseChatModel):
    """Answers with ``reply(messages)``, letter by letter if that is a text, and remembers what it was shown."""

    reply: Callable[[list[BaseMessage]], Content]
    usage: dict[str, int] | None = None
    shown: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "replying"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply(messages)))])

    def _stream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.shown.append(messages)
        reply = self.reply(messages)
        for part in [reply] if isinstance(reply, list) or not reply else reply:
            if isinstance(part, Exception):
                raise part
            yield ChatGenerationChunk(message=AIMessageChunk(part))
        if self.usage:
            counted = {**self.usage, "total_tokens": sum(self.usage.values())}
            yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=counted))


def replying(text: Content, **fields: Any) -> Replying:
    """A model that always answers the same; an exception is raised instead."""

    def reply(_: list[BaseMessage]) -> Content:
        if isinstance(text, Exception):
            raise text
        return text

    return Replying(reply=reply, shown=[], **fields)


class ChatServer:
    """Does, request by request, what ``script`` says, and remembers the requests.

    A text is streamed as an answer; a number is an error status; ``"<silent>"`` never replies; ``"<garbage>"`` is no protocol;
    ``"<cut>"`` breaks off after one sentence.
    """

    def __init__(self, script: list[str | int]) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.closing = threading.Event()

    def next(self) -> str | int:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            server.keys.append(self.headers["Authorization"])
            doing = server.next()
            self.close_connection = True
            if doing == "<silent>":
                server.closing.wait(30)
                return
            if isinstance(doing, int):
                body = json.dumps({"error": {"message": "sk-secret was refused", "type": "x", "code": "x"}}).encode()
                self.send_response(doing)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            if doing == "<garbage>":
                self.wfile.write(b"data: {not json\n\n")
                return
            for letter in "The count is 42 [2]. Another " if doing == "<cut>" else doing:
                self._chunk({"index": 0, "delta": {"role": "assistant", "content": letter}, "finish_reason": None})
            if doing == "<cut>":
                self.wfile.write(b"data: {not json\n\n")
                return
            self._chunk({"index": 0, "delta": {}, "finish_reason": "stop"})
            self.wfile.write(b"data: [DONE]\n\n")

        def _chunk(self, choice: dict[str, Any]) -> None:
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    return Handler


@contextmanager
def serving(*script: str | int) -> Iterator[tuple[str, ChatServer]]:
    """A server on loopback; gives its address for ``QA_BOT_BASE_URL`` and what it saw."""
    server = ChatServer(list(script))
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/v1", server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()
