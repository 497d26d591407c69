from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import write_jsonl

from qa_bot.errors import QuestionSetError
from qa_bot.evaluate import Question, bundled_names, bundled_questions, load_questions
from qa_bot.evaluate.feedback import drafts, load_feedback, write_questions
from qa_bot.evaluate.verification import problems
from vectorstore import PaperIndex

PERSIST = "Z7Rhzk13NT"


def question(**fields: Any) -> Question:
    return Question.model_validate({"id": "q", "question": "What is PersistBench?", "type": "fact"} | fields)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "2: is not JSON"),
        ('{"id": "b", "question": "?"}', "2: type: field required"),
        ('{"id": "b", "question": "?", "type": "fact"}', "2: papers: field required; an empty list if the papers don't answer"),
        ('{"id": "b", "question": "?", "type": "fact", "paper": ["x"]}', "2: paper: is no field; papers is"),
        ('{"id": "b", "question": "?", "type": "fact", "papers": [], "Key_facts": []}', "2: Key_facts: is no field; key_facts is"),
        ('{"id": "b", "question": "?", "type": "fact", "papers": [], "papers": ["x"]}', "2: can't be used (the field 'papers' stands there twice)"),
        ('{"id": "b", "question": " ", "type": "fact", "papers": []}', "2: question: "),
        ('{"id": "b", "question": "?", "type": "fact", "papers": [], "answer": "\\ud800"}', "2: holds half a character (a lone surrogate)"),
        ('{"id": "b", "question": 5, "type": "fact", "papers": []}', "2: question: input should be a valid string"),
        ('{"id": "b", "question": "?", "type": "fact", "papers": [], "key_facts": [[]]}', "2: key_facts.0: "),
        ('{"id": "b", "question": "?", "type": "fact", "papers": [], "history": [{"role": "system", "content": ""}]}', "2: history.0.role: "),
        ('{"id": "a", "question": "?", "type": "fact", "papers": []}', "2: id 'a' was used before; ids must differ"),
        ('{"id": "b", "question": "?", "type": "fact", "papers": [], "todo": "name papers"}', "2: todo: is still a draft (name papers)"),
        ("[]", "2: the line: "),
    ],
)
def test_bad_question_lines_are_named(tmp_path: Path, line: str, reason: str) -> None:
    file = write_jsonl(tmp_path / "q.jsonl", [{"id": "a", "question": "?", "type": "fact", "papers": []}, line])
    with pytest.raises(QuestionSetError) as caught:
        load_questions(file)
    assert str(caught.value).startswith(f"{file}:{reason}")


def test_empty_missing_and_undecodable_sets_are_named(tmp_path: Path) -> None:
    for name, content, reason in (("empty.jsonl", b"\n", "holds no questions"), ("latin.jsonl", b"\xff\xfe{", "is not UTF-8"), ("h.csv", b"id\n", "holds no")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(QuestionSetError, match=reason):
            load_questions(tmp_path / name)
    with pytest.raises(QuestionSetError, match="can't be read"):
        load_questions(tmp_path / "none.jsonl")


def test_csv_holds_the_same_questions(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(
        "id,question,type,history,papers,also_ok,answer,key_facts\n"
        'a,"What, then?",fact,"[{""role"": ""user"", ""content"": ""Hi""}]",p1; p2,p3,"Two\nlines","42 | forty-two; beach"\n'
        'b,Why?,unanswerable,,[],,,"[[""x;y""]]"\n',
        "utf-8-sig",
    )
    first, second = load_questions(tmp_path / "q.csv")
    assert first == question(
        id="a",
        question="What, then?",
        history=[{"role": "user", "content": "Hi"}],
        papers=["p1", "p2"],
        also_ok=["p3"],
        answer="Two\nlines",
        key_facts=[["42", "forty-two"], ["beach"]],
    )
    assert second == question(id="b", question="Why?", type="unanswerable", key_facts=[["x;y"]])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,?,fact,x,y", "more cells than the header"),
        ("a,?,fact,[{", "papers: is not JSON"),
        ("a,,fact,", "question: field required"),
        ("a,?,fact", "has fewer cells than the header"),
        ('a,"?"x,fact,', "is not CSV"),
    ],
)
def test_bad_csv_rows_are_named(tmp_path: Path, row: str, reason: str) -> None:
    (tmp_path / "q.csv").write_text(f"id,question,type,papers\n{row}\n")
    with pytest.raises(QuestionSetError, match=f"q.csv:2: .*{reason}"):
        load_questions(tmp_path / "q.csv")


def test_csv_columns_are_named_once_and_without_blanks(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id, question ,type,papers\na,?,fact,p1\n")
    assert load_questions(tmp_path / "q.csv")[0].papers == ("p1",)
    (tmp_path / "q.csv").write_text("id,question,type,papers,papers\na,?,fact,p1,p2\n")
    with pytest.raises(QuestionSetError, match=r"q\.csv:1: a column stands there twice \(papers\)"):
        load_questions(tmp_path / "q.csv")


def test_fields_of_ones_own_are_left_alone(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "q.jsonl", [{"id": "a", "question": "?", "type": "fact", "papers": [], "difficulty": 3}])
    assert len(load_questions(file)) == 1


def test_sets_know_their_name_and_hash(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [{"id": "a", "question": "?", "type": "fact", "papers": []}])
    loaded = load_questions(file)
    assert (loaded.name, len(loaded.sha256), len(loaded)) == ("mine.jsonl", 64, 1)
    file.write_text(file.read_text().replace("?", "!"))
    assert load_questions(file).sha256 != loaded.sha256


def test_bundled_sets_load_by_name() -> None:
    assert {name: len(bundled_questions(name)) for name in bundled_names()} == {
        "icml2026-dev": 140,
        "icml2026-dev-extra": 65,
        "seeds-dev": 150,
        "seeds-dev-extra": 100,
    }
    with pytest.raises(QuestionSetError, match="'mine' is no bundled question set; there are icml2026-dev, "):
        bundled_questions("mine")


@pytest.mark.parametrize("name", ["seeds-dev", "seeds-dev-extra"])
def test_the_bundled_sets_fit_the_bundled_papers(name: str, index: PaperIndex) -> None:
    assert list(problems(bundled_questions(name), index)) == []
    assert all(bool(entry.history) == bool(entry.standalone) for entry in bundled_questions(name))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"papers": ["nope"]}, "q: papers: 'nope' is not in the index"),
        ({"papers": [PERSIST], "also_ok": ["nope"]}, "q: also_ok: 'nope' is not in the index"),
        ({"papers": [PERSIST], "key_facts": [["53%"], ["54%", "fifty-four"]]}, f"q: key_facts.1: none of ['54%', 'fifty-four'] occurs in {PERSIST}"),
        ({"key_facts": [["53%"]]}, "q: key_facts: are never looked at, since papers is empty"),
        ({"papers": [PERSIST], "type": "count", "key_facts": [["2", "two"]]}, f"q: key_facts.0: none of ['2', 'two'] occurs in {PERSIST}"),
        ({"papers": [PERSIST], "todo": "name papers"}, "q: todo: name papers"),
    ],
)
def test_checking_names_each_fault(index: PaperIndex, fields: dict[str, Any], problem: str) -> None:
    assert list(problems([question(**fields)], index)) == [problem]


def test_checking_finds_questions_asked_twice(index: PaperIndex) -> None:
    twice = [question(papers=[PERSIST]), question(id="r", question=" what is PERSISTBENCH? ", papers=[PERSIST])]
    assert list(problems(twice, index)) == ["r: question: is the same as that of q"]
    history = [{"role": "user", "content": "Hi"}]
    assert list(problems([question(papers=[PERSIST]), question(id="r", papers=[PERSIST], history=history)], index)) == []


VOTE = {"time": "2026-11-30T10:00:00+00:00", "vote": "up", "question": "What is 42?", "text": "A count [1].", "cited": ["p1"]}


def test_feedback_becomes_drafts_that_must_be_settled(tmp_path: Path) -> None:
    file = write_jsonl(
        tmp_path / "f.jsonl",
        [
            VOTE,
            VOTE | {"question": "Who?", "vote": "down", "note": "wrong paper"},
            VOTE | {"question": "Where?", "abstained": True, "cited": []},
            VOTE | {"question": "Why?", "abstained": True, "cited": [], "vote": "down"},
            VOTE | {"question": "And then?", "history": [{"role": "user", "content": "What is 42?"}]},
            VOTE | {"question": " Who? ", "vote": "down", "cited": ["p9"]},
        ],
    )
    found = drafts(load_feedback(file))
    assert [(d.question, d.type, d.papers, d.answer, d.todo) for d in found] == [
        ("What is 42?", "fact", ("p1",), "A count [1].", "check papers, put the answer in your own words, list key_facts"),
        ("Who?", "fact", (), "", "name the right papers and key_facts (the answer cited p9 and was voted down)"),
        ("Where?", "unanswerable", (), "A count [1].", "check that no paper answers it"),
        ("Why?", "fact", (), "", "name the right papers and key_facts (the answer declined and was voted down)"),
        ("And then?", "followup", ("p1",), "A count [1].", "check papers, put the answer in your own words, list key_facts"),
    ]
    assert len({d.id for d in found}) == 5
    written = tmp_path / "drafts.jsonl"
    written.write_text(write_questions(found))
    assert list(load_questions(written, drafts=True)) == found
    with pytest.raises(QuestionSetError, match=r"drafts\.jsonl:1: todo: is still a draft"):
        load_questions(written)


def test_a_note_is_kept_in_the_todo(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "f.jsonl", [VOTE | {"note": " nice "}])
    assert drafts(load_feedback(file))[0].todo.endswith("list key_facts; the user wrote: nice")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (VOTE | {"vote": "sideways"}, "1: vote: "),
        ({name: value for name, value in VOTE.items() if name != "text"}, "1: text: field required"),
        ("{", "1: the line: "),
        ("", " holds no feedback"),
    ],
)
def test_bad_feedback_is_named(tmp_path: Path, line: object, reason: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(line if isinstance(line, str) else json.dumps(line))
    with pytest.raises(QuestionSetError, match=f"f.jsonl:{reason}"):
        load_feedback(file)
    with pytest.raises(QuestionSetError, match="can't be read as text"):
        load_feedback(tmp_path / "none.jsonl")
