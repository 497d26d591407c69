"""Scores of whole answers, and that each way of tampering with one lowers the measure that is there to catch it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qa_bot.answer import Answer, Retrieved, Sentence, citation
from qa_bot.bot import PaperBot
from qa_bot.evaluate import Question
from qa_bot.evaluate.scoring import METRICS, failure, faults, outcome, score
from vectorstore import PaperIndex

PERSIST, OTHER = "Z7Rhzk13NT", "aaFfUg013C"


def question(**fields: Any) -> Question:
    base = {"id": "q", "question": "What is PersistBench?", "type": "fact", "papers": [PERSIST], "key_facts": [["safety risks"]]}
    return Question.model_validate(base | fields)


UNANSWERABLE = question(papers=[], key_facts=[], type="unanswerable")


@pytest.fixture(scope="module")
def answer(bot: PaperBot) -> Answer:
    return bot.ask("What is PersistBench?")


def scored(question: Question, answer: Answer, index: PaperIndex) -> dict[str, float]:
    return score(question, answer, index.get([c.paper_id for c in answer.citations]))


def wrong(question: Question, answer: Answer, index: PaperIndex) -> list[str]:
    papers = index.get([c.paper_id for c in answer.citations])
    return faults(question, answer, score(question, answer, papers), papers)


def test_a_good_answer_scores_full(index: PaperIndex, answer: Answer) -> None:
    words = float(len(answer.text.split()))
    ranking = dict.fromkeys(("hit@1", "hit@5", "recall@5", "recall@10", "mrr", "ndcg@10"), 1.0)
    cited = dict.fromkeys(("citation_precision", "citation_recall", "citation_f1", "key_fact_recall", "quote_exactness", "support_rate", "accuracy"), 1.0)
    found = scored(question(), answer, index)
    assert found == {**ranking, **cited, "needless_refusals": 0.0, "answer_words": words}
    assert wrong(question(), answer, index) == []
    assert outcome(question(), found, answer) == "right"
    assert set(found) <= set(METRICS)


def test_a_swapped_citation_is_caught(index: PaperIndex, answer: Answer) -> None:
    swapped = replace(answer, citations=(replace(answer.citations[0], paper_id=OTHER),))
    found = scored(question(), swapped, index)
    assert {name: found[name] for name in ("citation_precision", "citation_recall", "citation_f1", "quote_exactness", "accuracy")} == dict.fromkeys(
        ("citation_precision", "citation_recall", "citation_f1", "quote_exactness", "accuracy"), 0.0
    )
    assert found["support_rate"] < 1
    title = index.get([OTHER])[OTHER].title
    assert wrong(question(), swapped, index) == [
        f"not cited: {PERSIST}",
        f"cited, though not to the point: {OTHER} ({title})",
        "a quote is no exact slice of its abstract",
        "a sentence isn't held by its sources",
    ]


def test_a_changed_digit_is_caught(index: PaperIndex, bot: PaperBot) -> None:
    whole = bot.ask("What median failure rates did PersistBench find?")
    at = next(n for n, sentence in enumerate(whole.sentences) if "53%" in sentence.text)
    forged = whole.sentences[at].text.replace("53%", "58%")
    sentences = tuple(replace(s, text=forged) if n == at else s for n, s in enumerate(whole.sentences))
    quotes = tuple(replace(q, text=q.text.replace("53%", "58%")) for q in whole.citations[0].quotes)
    number = len(whole.sentences)
    both = replace(whole, text=whole.text.replace("53%", "58%"), sentences=sentences, citations=(replace(whole.citations[0], quotes=quotes),))
    # of n quotes and n sentences, one of each is wrong
    assert scored(question(), both, index)["quote_exactness"] == pytest.approx(1 - 1 / number)
    assert scored(question(), both, index)["support_rate"] == pytest.approx(1 - 1 / number)
    # what is shown differs from the quote that stands behind it
    shown = replace(whole, text=whole.text.replace("53%", "58%"), sentences=sentences)
    assert scored(question(), shown, index)["quote_exactness"] == pytest.approx(1 - 1 / (2 * number))


def test_refusing_everything_is_caught(index: PaperIndex, answer: Answer) -> None:
    refused = replace(answer, abstained=True, sentences=(), citations=())
    found = scored(question(), refused, index)
    assert (found["needless_refusals"], found["refusal_precision"], found["key_fact_recall"], found["citation_f1"], found["accuracy"]) == (1, 0, 0, 0, 0)
    assert "answer_words" not in found
    assert wrong(question(), refused, index) == ["refused, though the papers answer it"]
    assert outcome(question(), found, refused) == "refused"
    assert scored(UNANSWERABLE, refused, index) == {"refusal_recall": 1.0, "refusal_precision": 1.0, "accuracy": 1.0}
    assert outcome(UNANSWERABLE, {"accuracy": 1.0}, refused) == "right"


def test_answering_everything_is_caught(index: PaperIndex, answer: Answer) -> None:
    found = scored(UNANSWERABLE, answer, index)
    assert (found["refusal_recall"], found["citation_precision"], found["accuracy"]) == (0.0, 0.0, 0.0)
    assert "refusal_precision" not in found
    assert wrong(UNANSWERABLE, answer, index)[0] == "answered, though the papers don't answer it"
    assert outcome(UNANSWERABLE, found, answer) == "wrong"


def test_citing_everything_retrieved_is_caught(index: PaperIndex, answer: Answer) -> None:
    papers = index.get([hit.paper_id for hit in answer.retrieved])
    extra = tuple(citation(n, papers[hit.paper_id]) for n, hit in enumerate(answer.retrieved[1:], start=2))
    found = scored(question(), replace(answer, citations=answer.citations + extra), index)
    # one of ten is right: precision 1/10, recall 1, F1 2/11
    assert (found["citation_precision"], found["citation_recall"], found["citation_f1"]) == pytest.approx((1 / 10, 1, 2 / 11))
    assert found["accuracy"] == 0.0


def test_an_unsupported_sentence_is_caught(index: PaperIndex, answer: Answer) -> None:
    invented = Sentence("PersistBench was funded with 4.5 million euros by a car maker.", (1,), "checked")
    found = scored(question(), replace(answer, text=f"{answer.text} {invented.text}", sentences=(*answer.sentences, invented)), index)
    assert found["support_rate"] == pytest.approx(1 - 1 / (len(answer.sentences) + 1))
    assert found["quote_exactness"] == 1.0


@pytest.mark.parametrize("text", ["Completely made up. [1]", "{answer} It was funded by 4 car makers.", "See https://evil.example first. {answer}"])
def test_text_beside_the_sentences_is_caught(index: PaperIndex, answer: Answer, text: str) -> None:
    found = scored(question(), replace(answer, text=text.replace("{answer}", answer.text)), index)
    assert found["support_rate"] < 1


def test_a_count_is_supported_only_in_a_heading(index: PaperIndex, answer: Answer) -> None:
    forged = Sentence("The safety risks grow by 1%.", (1,), "checked")
    uncited = Sentence("PersistBench cost 4.5 million euros.", (), "checked")
    for sentence in (forged, uncited):
        lying = replace(answer, text=f"{answer.text} {sentence.text}", sentences=(*answer.sentences, sentence))
        assert scored(question(), lying, index)["support_rate"] == pytest.approx(1 - 1 / (len(answer.sentences) + 1))


def test_retrieval_at_a_later_rank_is_told(index: PaperIndex, answer: Answer) -> None:
    ranked = (Retrieved("a", "A", 0.9), Retrieved("b", "B", 0.8), Retrieved(PERSIST, "P", 0.7))
    found = scored(question(), replace(answer, retrieved=ranked), index)
    assert (found["hit@1"], found["mrr"], found["ndcg@10"], found["recall@5"]) == (0.0, pytest.approx(1 / 3), 0.5, 1.0)
    assert wrong(question(), replace(answer, retrieved=ranked), index) == ["the first right paper is retrieved at rank 3"]
    assert wrong(question(), replace(answer, retrieved=ranked[:2]), index) == ["no right paper among the 2 retrieved"]


def test_borderline_papers_may_be_cited_but_are_no_recall(index: PaperIndex, answer: Answer) -> None:
    found = scored(question(papers=[OTHER], also_ok=[PERSIST], key_facts=[]), answer, index)
    assert (found["hit@1"], found["citation_precision"], found["citation_recall"], found["accuracy"]) == (1.0, 1.0, 0.0, 0.0)


def test_missing_facts_are_listed(index: PaperIndex, answer: Answer) -> None:
    asked = question(key_facts=[["safety risks"], ["54 %", "fifty-four"]])
    found = scored(asked, answer, index)
    assert (found["key_fact_recall"], found["accuracy"]) == (0.5, 0.0)
    assert wrong(asked, answer, index) == ["key fact missing: 54 % / fifty-four"]


def test_counts_are_right_in_number_and_set(index: PaperIndex, bot: PaperBot) -> None:
    counted = bot.ask("Which papers list Han Liu among the authors?")
    gold = [c.paper_id for c in counted.citations]
    asked = question(type="count", papers=gold, key_facts=[["2", "two"]])
    assert scored(asked, counted, index)["count_exactness"] == 1.0
    short = question(type="count", papers=gold[:1], key_facts=[])
    assert scored(short, counted, index)["count_exactness"] == 0.0
    assert "count: 2 stated and 2 listed, 1 expected" in wrong(short, counted, index)
    assert scored(asked, replace(counted, abstained=True), index)["count_exactness"] == 0.0


def test_a_list_with_its_heading_is_supported(index: PaperIndex, bot: PaperBot) -> None:
    counted = bot.ask("Which papers list Han Liu among the authors?")
    assert scored(question(), counted, index)["support_rate"] == 1.0
    heading = counted.sentences[0]
    forged = heading.text.replace("2 papers", "7 papers")
    more = replace(counted, text=counted.text.replace(heading.text, forged), sentences=(replace(heading, text=forged), *counted.sentences[1:]))
    assert scored(question(), more, index)["support_rate"] == pytest.approx(2 / 3)


def test_statements_on_the_whole_catalogue_are_left_to_the_counts(index: PaperIndex, bot: PaperBot) -> None:
    assert "support_rate" not in scored(UNANSWERABLE, bot.ask("How many papers are there?"), index)


def test_an_error_is_the_worst_score() -> None:
    ranking = dict.fromkeys(("hit@1", "hit@5", "recall@5", "recall@10", "mrr", "ndcg@10", "citation_recall", "citation_f1"), 0.0)
    assert failure(question()) == {**ranking, "key_fact_recall": 0.0, "accuracy": 0.0, "errors": 1.0}
    assert failure(UNANSWERABLE) == {"refusal_recall": 0.0, "accuracy": 0.0, "errors": 1.0}
    assert failure(question(type="count", key_facts=[]))["count_exactness"] == 0.0
    assert outcome(question(), failure(question()), None) == "error"
