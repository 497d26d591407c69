"""The web chat: ``python app.py``. The only door to gradio."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

from qa_bot.quiet import silence

silence()  # before gradio reads the environment

import gradio as gr  # noqa: E402

from qa_bot import page  # noqa: E402
from qa_bot.answer import Turn  # noqa: E402
from qa_bot.bot import PaperBot  # noqa: E402
from qa_bot.errors import QABotError, SettingsError  # noqa: E402
from qa_bot.settings import Settings  # noqa: E402
from vectorstore import StoreError  # noqa: E402
from vectorstore.text import storable  # noqa: E402

log = logging.getLogger("qa_bot.web")

EXAMPLES = (
    "What failure rates did PersistBench measure?",
    "How does Spherical Steering move the activations?",
    "Which papers are about watermarking?",
    "Who wrote Monitoring Monitorability?",
    "How do the two papers on sparse autoencoders differ?",
)
_VISITORS_AT_ONCE = 8
# visitors get no paths of the machine; whoever runs the program reads the reason in its log
_INDEX_FAULT = "The papers can't be searched at the moment; the reason is in the program's log."
Message = dict[str, Any]


class Loading:
    """The bot while it loads in the background, and afterwards. Shared by all visitors; it holds no conversation."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._bot: PaperBot | None = None
        self._state = "Loading the search model …"
        self._ended = threading.Event()

    def start(self) -> None:
        """Open the index, building it if there is none, and load the model, in a thread."""
        threading.Thread(target=self._load, name="loading", daemon=True).start()

    def bot(self) -> PaperBot | None:
        """Wait for the bot; None if it can't be had, :meth:`state` then says why."""
        self._ended.wait()
        return self._bot

    def state(self, wait: float = 0.0) -> tuple[bool, str]:
        """Whether loading has ended, after at most ``wait`` seconds, and one line on how things stand."""
        return self._ended.wait(wait), self._state

    def _load(self) -> None:
        try:
            bot = PaperBot.open(settings=self._settings, progress=self._building)
            bot.warm()
            self._bot = bot
            count = bot.index.count()
            self._state = f"{count:,} papers. Answers are quoted from their abstracts." if count else "No papers yet. Add some with: qa-bot add FILE"
        except (StoreError, QABotError) as error:
            self._state = _INDEX_FAULT
            log.error("%s", error)
        except Exception:
            self._state = "Not ready: loading failed; the reason is in the program's log."
            log.exception("loading failed")
        finally:
            self._ended.set()

    def _building(self, done: int, total: int) -> None:
        self._state = f"Building the index: {done:,} of {total:,} sentences …"


def build(loading: Loading) -> gr.Blocks:
    """The page. Each visitor's conversation lives in that visitor's session."""

    def watch() -> Iterator[str]:
        ended, state = loading.state()
        yield state
        while not ended:
            ended, state = loading.state(wait=0.5)
            yield state

    def respond(question: str, shown: list[Message], turns: list[Turn]) -> Iterator[tuple[Any, list[Message], list[Turn]]]:
        question = storable(question)
        if not question.strip():
            yield "", shown, turns
            return
        shown = [*shown, {"role": "user", "content": page.question_html(question)}]
        ended, state = loading.state()
        yield "", [*shown, _said(page.draft_html("…") if ended else page.notice_html(state))], turns
        for content, after in _reply(loading, question, turns):
            yield gr.skip(), [*shown, _said(content)], after  # the box may hold the next question by now

    demo: gr.Blocks
    with gr.Blocks(title="Ask the papers", analytics_enabled=False, fill_height=True) as demo:
        gr.Markdown("# Ask the papers", elem_id="title")
        status = gr.Markdown("Starting …", elem_id="status")
        turns = gr.State([])
        # papers hold no LaTeX any more, so that "$5 and $7" stays an amount
        chat = gr.Chatbot(
            elem_id="chat", show_label=False, height=None, scale=1, latex_delimiters=[], feedback_options=None, buttons=["copy_all"], layout="panel"
        )
        with gr.Row():
            question = gr.Textbox(
                placeholder="Ask about the papers", show_label=False, container=False, scale=8, autofocus=True, elem_id="question", max_length=4000
            )
            send = gr.Button("Ask", variant="primary", scale=1, min_width=80, elem_id="send")
            clear = gr.Button("New chat", scale=1, min_width=100, elem_id="clear")
        gr.Examples([[example] for example in EXAMPLES], inputs=[question], cache_examples=False, label="Try one of these")
        inputs, outputs = [question, chat, turns], [question, chat, turns]
        asked = gr.on([question.submit, send.click], respond, inputs, outputs, show_progress="hidden", api_visibility="private")
        gr.on([clear.click, chat.clear], lambda: ("", [], []), None, outputs, cancels=[asked], show_progress="hidden", api_visibility="private")
        demo.load(watch, None, [status], show_progress="hidden", concurrency_limit=None, api_visibility="private")
    demo.queue(default_concurrency_limit=_VISITORS_AT_ONCE)
    return demo


def serve(settings: Settings, *, block: bool = True) -> gr.Blocks:
    """Open the page at the settings' address, then load the bot behind it; with ``block``, return only when stopped.

    Raises:
        SettingsError: the address can't be listened on.
    """
    loading = Loading(settings)
    demo = build(loading)
    try:
        demo.launch(
            server_name=settings.host, server_port=settings.port or None, css=page.STYLE, ssr_mode=False, share=False, quiet=True, prevent_thread_lock=True
        )
    except OSError as error:
        raise SettingsError(
            f"can't listen on {settings.host} port {settings.port}, it is taken or no address of this machine; choose another with --port or QA_BOT_PORT"
        ) from error
    print(f"Chat at {demo.local_url} (stop with Ctrl-C)", flush=True)
    loading.start()
    if block:
        demo.block_thread()
    return demo


def _reply(loading: Loading, question: str, turns: list[Turn]) -> Iterator[tuple[str, list[Turn]]]:
    bot = loading.bot()
    if bot is None:
        yield page.notice_html(loading.state()[1]), turns
        return
    try:
        stream = bot.stream(question, history=turns)
        text = ""
        for piece in stream:
            text += piece
            yield page.draft_html(text), turns
        answer = stream.answer
        papers = bot.index.get([source.paper_id for source in answer.citations])
        yield page.answer_html(answer, papers), [*turns, *answer.turns()]
    except QABotError as error:
        yield page.notice_html(str(error)), turns
    except StoreError as error:
        log.error("%s", error)
        yield page.notice_html(_INDEX_FAULT), turns
    except Exception:
        log.exception("a question failed")
        yield page.notice_html("This question failed; the reason is in the program's log. Others may still work."), turns


def _said(content: str) -> Message:
    return {"role": "assistant", "content": content}


if __name__ == "__main__":
    from qa_bot.cli import main

    main(["chat"])
