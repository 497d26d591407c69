"""LangChain's face of the bot: the index as a retriever, and a retrieval chain to compose with any chat model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from qa_bot.quiet import silence

silence()  # before LangChain reads the environment

from langchain_core.callbacks import CallbackManagerForRetrieverRun  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.messages import SystemMessage  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough  # noqa: E402
from pydantic import ConfigDict  # noqa: E402

import prompts  # noqa: E402
from qa_bot.answer import as_turns  # noqa: E402
from qa_bot.conversation import standalone_question  # noqa: E402
from qa_bot.errors import MAX_QUESTION_CHARS, QuestionError  # noqa: E402
from vectorstore import Filters, Hit, PaperIndex  # noqa: E402


class PaperRetriever(BaseRetriever):
    """Hybrid search as a LangChain retriever: at most ``k`` documents, one a paper, best first.

    A document's text is the abstract; its metadata are ``paper_id``, ``title``, ``authors``, ``year``, ``venue``, ``topic``,
    ``url`` and ``score`` (0 to 1).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: PaperIndex
    k: int = 5
    filters: Filters = Filters()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [_document(hit) for hit in self.index.search(query, k=self.k, filters=self.filters).hits]


def retrieval_chain(retriever: Runnable[str, list[Document]]) -> Runnable[Any, dict[str, Any]]:
    """Chain from a question, or ``{"question", "history"}``, to ``{"question", "standalone_question", "documents", "context"}``.

    ``context`` is the documents as numbered text for :func:`answer_prompt`, so ``chain | answer_prompt() | model`` answers.
    """
    return (
        RunnableLambda(_question, name="question")
        | RunnablePassthrough.assign(documents=RunnableLambda(lambda asked: asked["standalone_question"], name="query") | retriever)
        | RunnablePassthrough.assign(context=RunnableLambda(lambda found: format_documents(found["documents"]), name="context"))
    )


def answer_prompt() -> ChatPromptTemplate:
    """Chat prompt with the variables ``context`` and ``standalone_question``; their text is never parsed as a template."""
    return ChatPromptTemplate.from_messages([SystemMessage(prompts.text("answer")), ("human", "{context}\n\nQuestion: {standalone_question}")])


def format_documents(documents: Sequence[Document]) -> str:
    """Numbered titles and abstracts, fenced so that text in them can't end its own fence."""
    return "\n\n".join(
        f"---\n[{number}] {document.metadata.get('title', '')}\n{_unfenced(document.page_content)}\n---" for number, document in enumerate(documents, start=1)
    )


def _question(asked: str | Mapping[str, Any]) -> dict[str, Any]:
    question = asked if isinstance(asked, str) else str(asked["question"])
    if len(question) > MAX_QUESTION_CHARS:
        raise QuestionError(f"the question has {len(question):,} characters, at most {MAX_QUESTION_CHARS:,} are searched; shorten it")
    if isinstance(asked, str):
        return {"question": question, "standalone_question": question}
    return {**asked, "question": question, "standalone_question": standalone_question(question, as_turns(asked.get("history") or ()))}


def _unfenced(text: str) -> str:
    return re.sub(r"-{3,}", "—", text)


def _document(hit: Hit) -> Document:
    paper = hit.paper
    metadata = {
        "paper_id": paper.id,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "topic": paper.topic,
        "url": paper.url,
        "score": hit.score,
    }
    return Document(id=paper.id, page_content=paper.abstract, metadata=metadata)
