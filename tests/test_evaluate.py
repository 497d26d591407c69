from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from qa_bot.answer import Answer, Turn
from qa_bot.bot import PaperBot
from qa_bot.errors import EvaluationError, QuestionSetError
from qa_bot.evaluate import BASELINES, SUITES, Question, bundled_questions, evaluate
from qa_bot.evaluate.baselines import LangChainBaseline, baseline
from vectorstore import PaperIndex

ASKED = [
    Question(id="a", question="What is PersistBench?", type="fact", papers=("Z7Rhzk13NT",), key_facts=(("safety risks",),)),
    Question(id="b", question="Who won the 1998 world cup?", type="unanswerable"),
    Question(id="c", question="How does Spherical Steering move activations?", type="method", papers=("9PPeJsVLdB",), key_facts=(("no such words",),)),
]


class Unreliable(PaperBot):
    """The bot with a server behind it that is down whenever a question mentions steering."""

    engine = "unreliable"
    asked = 0

    def ask(self, question: str, **given: Any) -> Answer:
        self.asked += 1
        if "Steering" in question:
            raise TimeoutError("no reply\nwithin 30 s")
        return super().ask(question, **given)


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    kept = json.loads(json.dumps(report))
    for part in (kept, *kept["baselines"].values()):
        part.pop("latency_ms")
        part["curves"].pop("latency_ms")
    for question in kept["questions"]:
        question.pop("ms")
    return {name: value for name, value in kept.items() if name != "date"}


def test_the_report_has_the_contracts_keys(bot: PaperBot) -> None:
    done: list[tuple[str, int, int]] = []
    report = evaluate(bot, ASKED, baselines=(), suites=(), progress=lambda *step: done.append(step)).to_dict()
    assert json.loads(json.dumps(report)) == {**report, "questions": json.loads(json.dumps(report["questions"]))}
    assert done == [("Asking extractive", 1, 3), ("Asking extractive", 2, 3), ("Asking extractive", 3, 3)]
    expected = "version n engine seed jobs date set index metrics by_type slices latency_ms tokens curves baselines errors suites questions"
    assert set(report) == set(expected.split())
    assert (report["n"], report["engine"], report["index"]["papers"], set(report["latency_ms"])) == (3, "extractive", 38, {"p50", "p95", "p99"})
    assert report["metrics"]["hit@1"] == {"value": 1.0, "n": 2, "ci_low": 1.0, "ci_high": 1.0}
    assert report["metrics"]["key_fact_recall"] == {"value": 0.5, "n": 2, "ci_low": 0.0, "ci_high": 1.0}
    assert report["metrics"]["refusal_auc"]["value"] == 1.0
    assert report["by_type"]["unanswerable"]["refusal_recall"] == {"value": 1.0, "n": 1, "ci_low": 1.0, "ci_high": 1.0}
    assert [entry["outcome"] for entry in report["questions"]] == ["right", "right", "wrong"]
    assert report["questions"][2]["faults"] == ["key fact missing: no such words"]
    assert report["questions"][2]["gold"][0]["title"].startswith("Spherical Steering")
    assert report["set"]["n"] == 3
    # by falling confidence come a right and a wrong answer, then the unanswerable one, wrong if it were answered
    assert [point["coverage"] for point in report["curves"]["risk_coverage"]] == [0.3333, 0.6667, 1.0]
    assert report["curves"]["risk_coverage"][2]["risk"] == 0.6667
    assert report["curves"]["recall_at_k"] == [{"k": k, "recall": 1.0} for k in range(1, 11)]


def test_the_same_seed_gives_the_same_report(bot: PaperBot) -> None:
    first, second = (evaluate(bot, ASKED, suites=("typo", "hostile"), baselines=("keyword", "langchain"), seed=5).to_dict() for _ in range(2))
    assert without_times(first) == without_times(second)
    other = evaluate(bot, ASKED, suites=("typo",), baselines=(), seed=6).to_dict()
    assert [case["question"] for case in other["suites"]] != [case["question"] for case in first["suites"] if case["suite"] == "typo"]


def test_more_jobs_give_the_same_report(bot: PaperBot) -> None:
    one, four = (evaluate(bot, ASKED * 1, baselines=(), suites=(), jobs=jobs).to_dict() for jobs in (1, 4))
    assert without_times(one) | {"jobs": 4} == without_times(four)


def test_a_failing_engine_is_scored_and_the_run_goes_on(index: PaperIndex) -> None:
    report = evaluate(Unreliable(index), ASKED, baselines=(), suites=()).to_dict()
    assert report["errors"] == [{"id": "c", "error": "TimeoutError: no reply within 30 s"}]
    assert report["questions"][2]["outcome"] == "error"
    assert report["questions"][2]["faults"] == ["the engine failed: TimeoutError: no reply within 30 s"]
    assert report["metrics"]["errors"]["value"] == pytest.approx(1 / 3, abs=1e-4)
    assert report["metrics"]["hit@1"]["value"] == 0.5


def test_a_failing_engine_gets_through_the_suites(index: PaperIndex) -> None:
    report = evaluate(Unreliable(index), ASKED, baselines=(), suites=SUITES)
    assert {trial.suite for trial in report.trials} == set(SUITES)


def test_an_interrupted_run_goes_on_where_it_was(index: PaperIndex, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"

    def stop(stage: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(PaperBot(index), ASKED, baselines=(), suites=(), journal=journal, progress=stop)
    with journal.open("a") as stream:
        stream.write('{"key": "torn')  # as a kill leaves it
    engine = PaperBot(index)
    asked: list[str] = []
    ask = engine.ask
    engine.ask = lambda question, **given: asked.append(question) or ask(question, **given)  # type: ignore[func-returns-value, method-assign]
    resumed = evaluate(engine, ASKED, baselines=(), suites=(), journal=journal).to_dict()
    assert asked == ["How does Spherical Steering move activations?"]
    assert without_times(resumed) == without_times(evaluate(PaperBot(index), ASKED, baselines=(), suites=()).to_dict())
    evaluate(engine, ASKED, baselines=(), suites=(), journal=journal)
    assert len(asked) == 1


def test_errors_are_tried_again(index: PaperIndex, tmp_path: Path) -> None:
    engine = Unreliable(index)
    evaluate(engine, ASKED, baselines=(), suites=(), journal=tmp_path / "run.jsonl")
    before = engine.asked
    evaluate(engine, ASKED, baselines=(), suites=(), journal=tmp_path / "run.jsonl")
    assert engine.asked == before + 1


def test_a_foreign_journal_is_refused(bot: PaperBot, index: PaperIndex, tmp_path: Path) -> None:
    evaluate(bot, ASKED, baselines=(), suites=(), journal=tmp_path / "run.jsonl")
    with pytest.raises(EvaluationError, match="another engine or index \\(engine differs\\); name another file"):
        evaluate(Unreliable(index), ASKED, baselines=(), suites=(), journal=tmp_path / "run.jsonl")
    (tmp_path / "notes.txt").write_text("my notes\nmore\n")
    with pytest.raises(EvaluationError, match=r"notes\.txt: is no journal"):
        evaluate(bot, ASKED, baselines=(), suites=(), journal=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "my notes\nmore\n"
    with pytest.raises(EvaluationError, match="can't be used"):
        evaluate(bot, ASKED, baselines=(), suites=(), journal=tmp_path / "none" / "run.jsonl")


def test_an_empty_set_and_unknown_parts_are_refused(bot: PaperBot) -> None:
    with pytest.raises(QuestionSetError, match="no questions to ask"):
        evaluate(bot, [])
    with pytest.raises(EvaluationError, match="'bm26' is no baseline; there are keyword, dense, langchain"):
        evaluate(bot, ASKED, baselines=("bm26",), suites=())
    with pytest.raises(EvaluationError, match="'stress' is no stress suite; there are hostile, "):
        evaluate(bot, ASKED, baselines=(), suites=("stress",))


@pytest.mark.parametrize("name", BASELINES)
def test_each_baseline_answers_with_real_citations(name: str, index: PaperIndex, tmp_path: Path) -> None:
    engine = baseline(name, index, cache=tmp_path)
    engine.warm()
    answer = engine.ask("What does PersistBench measure?", history=())
    assert (answer.engine, answer.abstained, answer.citations[0].paper_id, answer.retrieved[0].paper_id) == (name, False, "Z7Rhzk13NT", "Z7Rhzk13NT")
    assert 0 < answer.confidence <= 1
    abstract = index.get(["Z7Rhzk13NT"])["Z7Rhzk13NT"].abstract
    assert all(abstract[quote.start : quote.end] == quote.text for quote in answer.citations[0].quotes)
    assert len(answer.sentences) == 4


def test_baselines_keep_their_vectors(index: PaperIndex, tmp_path: Path) -> None:
    steps: list[int] = []
    for _ in range(2):
        baseline("dense", index, cache=tmp_path, progress=lambda stage, done, total: steps.append(done))
    assert steps[-1] == 38
    assert steps.count(38) == 1
    assert [file.suffix for file in tmp_path.iterdir()] == [".npy"]


def test_the_stock_chain_takes_a_model(index: PaperIndex) -> None:
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    usage: Any = {"input_tokens": 300, "output_tokens": 7, "total_tokens": 307}
    model = GenericFakeChatModel(messages=iter([AIMessage("It measures risks.", usage_metadata=usage)]))
    answer = LangChainBaseline(index, model=model).ask("What does PersistBench measure?")
    assert [sentence.text for sentence in answer.sentences] == ["It measures risks."]
    assert dict(answer.usage) == usage
    assert 1 <= len(answer.citations) <= 4


def test_another_engine_needs_only_the_protocol(index: PaperIndex) -> None:
    class Silent:
        engine = "silent"

        def __init__(self) -> None:
            self.index = index

        def warm(self) -> None:
            pass

        def ask(self, question: str, *, history: Sequence[Turn]) -> Answer:
            return Answer(question, question, "question", "No.", abstained=True, confidence=0.5)

    report = evaluate(Silent(), ASKED, baselines=("keyword",), suites=SUITES)
    assert (report.metrics["refusal_recall"].value, report.metrics["needless_refusals"].value) == (1.0, 1.0)
    # no plain question is answered, and no other index can be tried
    assert {trial.suite for trial in report.trials} == {"persistence"}


def test_quality_on_the_bundled_set_holds(bot: PaperBot) -> None:
    report = evaluate(bot, bundled_questions(), baselines=(), suites=())
    metrics = {name: found.value for name, found in report.metrics.items()}
    single = report.slices["single-paper"]["recall@5"]
    assert metrics["hit@1"] >= 0.97
    assert (single.value, single.n) == (1.0, 111)
    assert metrics["citation_precision"] >= 0.95
    assert metrics["key_fact_recall"] >= 0.85
    assert metrics["quote_exactness"] == 1.0
    assert metrics["support_rate"] == 1.0
    assert metrics["needless_refusals"] <= 0.06
    assert (
        max(len([s for s in entry.answer.sentences if s.support == "quoted"]) for entry in report.scored if entry.answer and entry.question.type != "topic")
        <= 4
    )
