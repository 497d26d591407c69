"""LangChain's face of the bot: the index as a retriever, and a retrieval chain to compose with any chat model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import SystemMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from pydantic import ConfigDict

import prompts
from qa_bot.answer import as_turns
from qa_bot.conversation import standalone_question
from vectorstore import Filters, Hit, PaperIndex


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
    if isinstance(asked, str):
        return {"question": asked, "standalone_question": asked}
    question = str(asked["question"])
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
