from __future__ import annotations

import pytest
from conftest import paper

from qa_bot.answer import Quote, Sentence, Turn, as_turns, citation, cite, pieces
from qa_bot.errors import QuestionError


def test_cite_numbers_papers_by_first_use_and_keeps_spans() -> None:
    papers = {"b": paper("b", title="Shells"), "a": paper("a")}
    passages = [papers["b"].passages[1], papers["a"].passages[0], papers["b"].passages[0]]
    sentences, citations = cite(passages, papers)
    assert sentences == (
        Sentence("The count is 42.", (1,), "quoted"),
        Sentence("We count pebbles on a beach.", (2,), "quoted"),
        Sentence("We count pebbles on a beach.", (1,), "quoted"),
    )
    assert [(c.number, c.paper_id, c.title, c.quotes) for c in citations] == [
        (1, "b", "Shells", (Quote("The count is 42.", 29, 45), Quote("We count pebbles on a beach.", 0, 28))),
        (2, "a", "Counting Pebbles", (Quote("We count pebbles on a beach.", 0, 28),)),
    ]


def test_pieces_name_each_paper_once_and_join_to_readable_text() -> None:
    papers = {"a": paper("a"), "b": paper("b", title="Shells")}
    sentences, citations = cite([*papers["a"].passages[:2], papers["b"].passages[1]], papers)
    assert "".join(pieces(sentences, citations)) == "“Counting Pebbles” [1]: We count pebbles on a beach. The count is 42.\n\n“Shells” [2]: The count is 42."
    assert pieces((Sentence("It is so.", (1,), "checked"), Sentence("And so.", (1, 2), "checked")), (citation(1, papers["a"]),)) == [
        "It is so. [1]",
        "\nAnd so. [1] [2]",
    ]


@pytest.mark.parametrize(
    "content", ["who?", [{"type": "text", "text": "who?"}], ["who?"], {"type": "text", "text": "who?"}, [{"type": "text", "text": None}, {"text": "who?"}]]
)
def test_history_is_read_in_every_shape(content: object) -> None:
    assert as_turns([Turn("assistant", "A", ("p",)), {"role": "user", "content": content}, {"role": "system", "content": "x"}]) == (
        Turn("assistant", "A", ("p",)),
        Turn("user", "who?"),
    )
    assert as_turns([{"role": "assistant", "content": None}]) == (Turn("assistant", ""),)
    with pytest.raises(QuestionError, match="the history holds 'hello'"):
        as_turns(["hello"])  # type: ignore[list-item]
