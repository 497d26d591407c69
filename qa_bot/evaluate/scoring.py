"""Scores of one answer to one question, and in words what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

import prompts
from qa_bot.answer import Answer
from qa_bot.evaluate import metrics
from qa_bot.evaluate.facts import held
from qa_bot.evaluate.questions import Question
from qa_bot.evaluate.verification import record_text
from vectorstore import Paper

Outcome = Literal["right", "wrong", "refused", "error"]

METRICS = (
    "hit@1",
    "hit@5",
    "recall@5",
    "recall@10",
    "mrr",
    "ndcg@10",
    "citation_precision",
    "citation_recall",
    "citation_f1",
    "key_fact_recall",
    "quote_exactness",
    "support_rate",
    "accuracy",
    "accuracy@90",
    "aurc",
    "refusal_auc",
    "refusal_precision",
    "refusal_recall",
    "needless_refusals",
    "count_exactness",
    "resisted",
    "answer_kept",
    "confidence_shift",
    "held",
    "agreement",
    "clean",
    "standalone_hit@1",
    "followup_drop",
    "answer_words",
    "errors",
)
"""All metrics in the order in which they are shown."""

SMALLER_IS_BETTER = frozenset({"aurc", "needless_refusals", "confidence_shift", "followup_drop", "errors"})
NEITHER_IS_BETTER = frozenset({"answer_words"})


_TOTAL = re.compile(r"(?:The index holds [\d,]+ papers?|[\d,]+ papers? match(?:es)? the filters)\.")
_NOTICES = frozenset(prompts.text(name) for name in ("not-a-count",))
"""What the bot says beside an answer's sentences; it claims nothing about a paper."""


def score(question: Question, answer: Answer, papers: Mapping[str, Paper]) -> dict[str, float]:
    """The metrics that apply to one answer; the others are left out.

    Ranking, citation recall and F1 apply to answerable questions; citation precision wherever papers are cited; key facts to
    answerable questions that list some (looked for in the sentences, not in the titles cited; a refusal holds none); quotes
    and support wherever there are some; counts to questions of type ``count``; ``refusal_recall`` to unanswerable questions,
    ``needless_refusals`` to answerable ones, ``refusal_precision`` to refusals. ``accuracy`` is 1 for an answer that is fully
    right: every paper of ``papers`` cited and none but those and ``also_ok``, every key fact stated, a count exact; or a refusal
    of an unanswerable question.

    ``papers`` are the records of the cited papers by id.
    """
    ranked = metrics.ranking({hit.paper_id: hit.score for hit in answer.retrieved})
    cited = [citation.paper_id for citation in answer.citations]
    acceptable = {*question.papers, *question.also_ok}
    scores: dict[str, float] = {}
    if question.answerable:
        scores |= {f"hit@{k}": metrics.hit_at(k, ranked, acceptable) for k in (1, 5)}
        scores |= {f"recall@{k}": metrics.recall_at(k, ranked, question.papers) for k in (5, 10)}
        scores["mrr"] = metrics.reciprocal_rank(ranked, question.papers)
        scores["ndcg@10"] = metrics.ndcg_at(10, ranked, question.papers)
        scores["citation_recall"] = metrics.citation_recall(cited, question.papers)
        scores["citation_f1"] = metrics.f1(metrics.citation_precision(cited, acceptable), scores["citation_recall"])
        scores["needless_refusals"] = float(answer.abstained)
        if question.key_facts:
            scores["key_fact_recall"] = metrics.key_fact_recall(stated(answer), question.key_facts)
    else:
        scores["refusal_recall"] = float(answer.abstained)
    if question.type == "count":
        scores["count_exactness"] = count_exactness(question, answer)
    if answer.abstained:
        scores["refusal_precision"] = float(not question.answerable)
    if cited:
        scores["citation_precision"] = metrics.citation_precision(cited, acceptable)
    if exact := list(_exact_quotes(answer, papers)):
        scores["quote_exactness"] = sum(exact) / len(exact)
    if sourced := list(_sourced(answer, papers)):
        scores["support_rate"] = metrics.support_rate(sourced)
    if not answer.abstained:
        scores["answer_words"] = float(metrics.answer_words(answer.text))
    scores["accuracy"] = float(answer.abstained) if not question.answerable else float(not answer.abstained and is_right(scores))
    return scores


def failure(question: Question) -> dict[str, float]:
    """The scores of a question on which the engine failed: as bad as can be."""
    scores = {"accuracy": 0.0, "errors": 1.0}
    if not question.answerable:
        return scores | {"refusal_recall": 0.0}
    applying = ("hit@1", "hit@5", "recall@5", "recall@10", "mrr", "ndcg@10", "citation_recall", "citation_f1")
    facts = {"key_fact_recall": 0.0} if question.key_facts else {}
    return scores | dict.fromkeys(applying, 0.0) | facts | ({"count_exactness": 0.0} if question.type == "count" else {})


def is_right(scores: Mapping[str, float]) -> bool:
    """Whether the scores of an answer to an answerable question are those of a fully right one."""
    return all(scores.get(name, 1.0) == 1.0 for name in ("citation_recall", "key_fact_recall", "count_exactness")) and scores.get("citation_precision") == 1.0


def count_exactness(question: Question, answer: Answer) -> float:
    """Whether the number that the answer states and the papers that it cites are exactly those of the question; 0 for a refusal."""
    cited = [citation.paper_id for citation in answer.citations]
    return 0.0 if answer.abstained else metrics.count_exactness(metrics.stated_number(answer.text), cited, question.papers, question.also_ok)


def outcome(question: Question, scores: Mapping[str, float], answer: Answer | None) -> Outcome:
    """What came of it; ``refused`` is a refusal of an answerable question."""
    if answer is None:
        return "error"
    return "right" if scores["accuracy"] else "refused" if answer.abstained and question.answerable else "wrong"


def faults(question: Question, answer: Answer, scores: Mapping[str, float], papers: Mapping[str, Paper]) -> list[str]:
    """What is wrong with an answer, one short line each; empty for a good one."""
    ranked = metrics.ranking({hit.paper_id: hit.score for hit in answer.retrieved})
    cited = [citation.paper_id for citation in answer.citations]
    found: list[str] = []
    if question.answerable:
        found += _ranking_faults(ranked, question)
        if answer.abstained:
            found.append("refused, though the papers answer it")
        elif missing := [paper for paper in question.papers if paper not in cited]:
            found.append(f"not cited: {_names(missing, papers)}")
        if not answer.abstained and question.key_facts:
            found += [
                f"key fact missing: {' / '.join(forms)}"
                for forms, there in zip(question.key_facts, held(stated(answer), question.key_facts), strict=True)
                if not there
            ]
    elif not answer.abstained:
        found.append("answered, though the papers don't answer it")
    if extra := [paper for paper in cited if paper not in {*question.papers, *question.also_ok}]:
        found.append(f"cited, though not to the point: {_names(extra, papers)}")
    if scores.get("count_exactness") == 0:
        found.append(f"count: {metrics.stated_number(answer.text)} stated and {len(cited)} listed, {len(question.papers)} expected")
    if scores.get("quote_exactness", 1) < 1:
        found.append("a quote is no exact slice of its abstract")
    if scores.get("support_rate", 1) < 1:
        found.append("a sentence isn't held by its sources")
    return found


def stated(answer: Answer) -> str:
    """All sentences of an answer, without the titles that the text puts in front of them."""
    return " ".join(sentence.text for sentence in answer.sentences)


def _ranking_faults(ranked: list[str], question: Question) -> Iterator[str]:
    best = next((rank for rank, paper in enumerate(ranked, start=1) if paper in {*question.papers, *question.also_ok}), None)
    if best is None:
        yield f"no right paper among the {len(ranked)} retrieved"
    elif best > 1:
        yield f"the first right paper is retrieved at rank {best}"


def _exact_quotes(answer: Answer, papers: Mapping[str, Paper]) -> Iterator[bool]:
    exact: dict[int, set[str]] = {}
    for citation in answer.citations:
        abstract = papers[citation.paper_id].abstract if citation.paper_id in papers else ""
        for quote in citation.quotes:
            good = metrics.quote_exactness([(quote.text, quote.start, quote.end)], abstract) == 1
            yield good
            if good:
                exact.setdefault(citation.number, set()).add(quote.text)
    # what is shown as quoted must be one of the quotes, or the reader sees something else than what was checked
    for sentence in answer.sentences:
        if sentence.support == "quoted":
            yield any(sentence.text in exact.get(number, ()) for number in sentence.citations)


def _sourced(answer: Answer, papers: Mapping[str, Paper]) -> Iterator[tuple[str, list[str]]]:
    numbers = {citation.number: citation.paper_id for citation in answer.citations}
    rest = answer.text
    for sentence in answer.sentences:
        if sentence.text not in answer.text:
            yield sentence.text, []  # checked, but not what the reader sees
            continue
        rest = rest.replace(sentence.text, " ", 1)
        if not answer.citations and _TOTAL.fullmatch(sentence.text):
            continue  # about the catalogue as a whole; counts have their own measure
        ids = [numbers[number] for number in sentence.citations if number in numbers]
        sources = [record_text(papers[paper]) for paper in ids if paper in papers]
        if sources and re.match(rf"{len(ids)} papers?\b", sentence.text):
            sources.append(f"{len(ids)} papers")  # a list's heading states how many it cites
        yield sentence.text, sources
    for citation in answer.citations:
        rest = rest.replace(f"“{citation.title}”", " ")
    rest = re.sub(r"\[\d+\]", " ", rest)
    if answer.sentences and any(character.isalnum() for character in rest) and " ".join(rest.split(":")).strip() not in _NOTICES:
        # text beside the sentences is read as the answer too
        yield " ".join(rest.split()), [record_text(papers[paper]) for paper in numbers.values() if paper in papers]


def _names(ids: Collection[str], papers: Mapping[str, Paper]) -> str:
    return "; ".join(f"{paper} ({papers[paper].title})" if paper in papers else paper for paper in ids)
