from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import write_jsonl

from qa_bot.answer import Answer, Quote
from qa_bot.bot import PaperBot
from qa_bot.errors import QuestionSetError
from qa_bot.evaluate import Question, bundled_questions, evaluate, load_questions
from qa_bot.evaluate.metrics import (
    citation_precision,
    citation_recall,
    hit_at,
    key_fact_recall,
    percentile,
    quote_exactness,
    recall_at,
    reciprocal_rank,
)
from qa_bot.evaluate.runner import score


def test_ranking_measures_by_hand() -> None:
    ranked = ["x", "a", "y", "b"]
    assert (hit_at(1, ranked, {"a"}), hit_at(2, ranked, {"a"})) == (0.0, 1.0)
    # of a, b and c, one is among the first 2, where two fit
    assert recall_at(2, ranked, {"a", "b", "c"}) == 0.5
    assert recall_at(5, ranked, {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert recall_at(5, ["a"], ["a", "a"]) == 1.0
    assert (reciprocal_rank(ranked, {"a", "b"}), reciprocal_rank(ranked, {"z"})) == (0.5, 0.0)


def test_citation_measures_by_hand() -> None:
    assert citation_precision(["a", "b", "x"], {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert citation_precision([], {"a"}) == 0.0
    assert citation_recall(["a", "x"], {"a", "b"}) == 0.5
    assert citation_recall([], set()) == 1.0


@pytest.mark.parametrize(
    ("text", "forms", "held"),
    [
        ("It gains 2.5× in speed.", ["2.5×"], True),
        ("a 3–5× gain", ["3-5×"], True),
        ("a gain of 10 %", ["10%"], True),
        ("6.0×10⁴ tons", ["6.0×10^4"], True),
        ("6.0×10⁴ tons", ["104"], False),
        ("an error of $10^{-3}$", ["10^-3"], True),
        ("5,000 models", ["5000"], True),
        ("15x faster", ["5x"], False),
        ("a new concept", ["once"], False),
        ("an emulated transformer", ["emulat"], True),
        ("It is O(n^5).", ["5"], False),
        ("anything", [""], False),
        ("It took 15 runs.", ["5"], False),
        ("It took 5.2 runs.", ["5"], False),
        ("It took 5,000 runs.", ["5"], False),
        ("It took 5, not 6.", ["5"], True),
        ("It ended at 5.", ["5"], True),
        ("Case-K is hard", ["Case-$K$"], True),
        ("at least 1+ε", ["1+\\varepsilon"], True),
        ("The Wasserstein  distance", ["wasserstein distance"], True),
        ("“monitorability”", ['"monitorability"'], True),
    ],
)
def test_key_facts_are_compared_after_normalising(text: str, forms: list[str], held: bool) -> None:
    assert key_fact_recall(text, [forms]) == float(held)


def test_key_fact_recall_is_the_share_of_facts() -> None:
    assert key_fact_recall("alpha and gamma", [["alpha"], ["beta", "gamma"], ["delta"]]) == pytest.approx(2 / 3)
    assert key_fact_recall("anything", []) == 1.0


def test_a_quote_is_exact_only_whole_and_in_place() -> None:
    abstract = "We count 42 pebbles."
    assert quote_exactness([("We count", 0, 8), ("count 42", 3, 11)], abstract) == 1.0
    assert quote_exactness([("We count", 0, 8), ("count 43", 3, 11)], abstract) == 0.5
    assert quote_exactness([("We count", 1, 9)], abstract) == 0.0
    assert quote_exactness([(".", -1, 20), (abstract, 0, 99)], abstract) == 0.0


def test_percentile_is_nearest_rank() -> None:
    assert [percentile([4, 1, 3, 2], share) for share in (0.5, 0.95, 0.25)] == [2, 4, 1]
    assert percentile(range(1, 101), 0.55) == 55
    assert percentile([], 0.5) == 0


def question(**fields: Any) -> Question:
    base = {"id": "q", "question": "What is PersistBench?", "type": "fact", "papers": ["Z7Rhzk13NT"], "key_facts": [["safety risks"]]}
    return Question.model_validate(base | fields)


@pytest.fixture(scope="module")
def answer(bot: PaperBot) -> Answer:
    return bot.ask("What is PersistBench?")


def test_a_good_answer_scores_full(bot: PaperBot, answer: Answer) -> None:
    assert score(question(), answer, bot) == {
        "hit@1": 1.0,
        "recall@5": 1.0,
        "mrr": 1.0,
        "citation_recall": 1.0,
        "needless_refusals": 0.0,
        "key_fact_recall": 1.0,
        "citation_precision": 1.0,
        "quote_exactness": 1.0,
    }


def test_each_fault_lowers_its_own_measure(bot: PaperBot, answer: Answer) -> None:
    cited = answer.citations[0]
    swapped = replace(answer, citations=(replace(cited, paper_id="aaFfUg013C"),))
    assert {name: score(question(), swapped, bot)[name] for name in ("citation_precision", "citation_recall", "quote_exactness")} == {
        "citation_precision": 0.0,
        "citation_recall": 0.0,
        "quote_exactness": 0.0,
    }
    first = cited.quotes[0]
    altered = replace(answer, citations=(replace(cited, quotes=(Quote(first.text + "!", first.start, first.end), *cited.quotes[1:])),))
    assert score(question(), altered, bot)["quote_exactness"] == 1 - 1 / len(cited.quotes)
    refused = replace(answer, abstained=True, sentences=(), citations=())
    assert {name: score(question(), refused, bot)[name] for name in ("needless_refusals", "key_fact_recall", "citation_recall")} == {
        "needless_refusals": 1.0,
        "key_fact_recall": 0.0,
        "citation_recall": 0.0,
    }
    assert score(question(papers=[], key_facts=[]), answer, bot) == {"refusal_recall": 0.0, "citation_precision": 0.0, "quote_exactness": 1.0}
    assert score(question(papers=[], key_facts=[]), refused, bot) == {"refusal_recall": 1.0}


def test_the_report_has_the_contracts_keys(bot: PaperBot) -> None:
    done: list[int] = []
    report = evaluate(
        bot,
        [question(), question(id="r", type="unanswerable", question="Who won the 1998 world cup?", papers=[], key_facts=[])],
        progress=lambda: done.append(1),
    )
    value = json.loads(json.dumps(report.to_dict()))
    assert len(done) == 2
    assert set(value) == {"n", "engine", "index", "metrics", "by_type", "slices", "latency_ms", "questions"}
    assert (value["n"], value["engine"], value["index"]["papers"], set(value["latency_ms"])) == (2, "extractive", 38, {"p50", "p95"})
    assert {name: entry["value"] for name, entry in value["metrics"].items()} == {
        **dict.fromkeys(("hit@1", "recall@5", "mrr", "citation_precision", "citation_recall", "key_fact_recall", "quote_exactness", "refusal_recall"), 1.0),
        "needless_refusals": 0.0,
    }
    assert value["by_type"]["unanswerable"] == {"refusal_recall": {"value": 1.0, "n": 1}}
    assert {"id", "type", "abstained", "cited", "retrieved", "key_fact_recall", "text"} <= set(value["questions"][0])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "2: is not JSON"),
        ('{"id": "b", "question": "?"}', "2: type: field required"),
        ('{"id": "b", "question": 5, "type": "fact"}', "2: question: input should be a valid string"),
        ('{"id": "b", "question": "?", "type": "fact", "key_facts": [[]]}', "2: key_facts.0: "),
        ('{"id": "a", "question": "?", "type": "fact"}', "2: id 'a' was used before; ids must differ"),
    ],
)
def test_bad_question_lines_are_named(tmp_path: Path, line: str, reason: str) -> None:
    file = write_jsonl(tmp_path / "q.jsonl", [{"id": "a", "question": "?", "type": "fact"}, line])
    with pytest.raises(QuestionSetError) as caught:
        load_questions(file)
    assert str(caught.value).startswith(f"{file}:{reason}")


def test_empty_and_missing_sets_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(QuestionSetError, match="holds no questions"):
        load_questions(tmp_path / "empty.jsonl")
    with pytest.raises(QuestionSetError, match="can't be read"):
        load_questions(tmp_path / "none.jsonl")


def test_the_bundled_set_belongs_to_the_bundled_papers(bot: PaperBot) -> None:
    questions = bundled_questions()
    gold = {paper for entry in questions for paper in (*entry.papers, *entry.also_ok)}
    assert len(questions) == 150
    assert gold == bot.index.get(sorted(gold)).keys()


def test_quality_on_the_bundled_set_holds(bot: PaperBot) -> None:
    report = evaluate(bot, bundled_questions())
    metrics = {name: value for name, (value, _) in report.metrics.items()}
    assert metrics["hit@1"] >= 0.97
    assert report.slices["single-paper"]["recall@5"] == (1.0, 111)
    assert metrics["citation_precision"] >= 0.85
    assert metrics["key_fact_recall"] >= 0.75
    assert metrics["quote_exactness"] == 1.0
    assert metrics["needless_refusals"] <= 0.06
    assert max(len([s for s in entry.answer.sentences if s.support == "quoted"]) for entry in report.scored) <= 4
