"""Whether a question set fits an index: its papers are there, and its key facts stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qa_bot.evaluate.facts import held
from qa_bot.evaluate.questions import Question
from vectorstore import Paper, PaperIndex


def problems(questions: Sequence[Question], index: PaperIndex) -> Iterator[str]:
    """One line for each fault, with the question's id and field.

    Checked are: ids in ``papers`` and ``also_ok`` exist; each key fact has a form that occurs in the record of a gold paper (for
    ``count`` questions: in a title, or is the number of gold papers); nothing is asked twice; questions without
    papers list no key facts; drafts.
    """
    wanted = sorted({paper for question in questions for paper in (*question.papers, *question.also_ok)})
    papers = index.get(wanted)
    asked: dict[tuple[object, ...], str] = {}
    for question in questions:
        where = f"{question.id}: "
        for field in ("papers", "also_ok"):
            for paper in getattr(question, field):
                if paper not in papers:
                    yield f"{where}{field}: {paper!r} is not in the index"
        if question.todo:
            yield f"{where}todo: {question.todo}"
        if question.key_facts and not question.papers:
            yield f"{where}key_facts: are never looked at, since papers is empty"
        yield from (f"{where}{line}" for line in _facts(question, papers))
        key = (question.question.strip().casefold(), question.history)
        if key in asked:
            yield f"{where}question: is the same as that of {asked[key]}"
        asked.setdefault(key, question.id)


def record_text(paper: Paper) -> str:
    """All that is known of a paper, as text."""
    return "\n".join(
        part for part in (paper.title, ", ".join(paper.authors), paper.venue, str(paper.year or ""), paper.topic, paper.url, paper.abstract) if part
    )


def _facts(question: Question, papers: dict[str, Paper]) -> Iterator[str]:
    if not question.key_facts or not question.papers or not all(paper in papers for paper in question.papers):
        return
    if question.type == "count":
        text = "\n".join([str(len(question.papers)), *(papers[paper].title for paper in question.papers)])
    else:
        text = "\n".join(record_text(papers[paper]) for paper in question.papers)
    for number, found in enumerate(held(text, question.key_facts)):
        if not found:
            yield f"key_facts.{number}: none of {list(question.key_facts[number])} occurs in {', '.join(question.papers)}"
