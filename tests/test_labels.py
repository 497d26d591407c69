from __future__ import annotations

import pytest

from qa_bot.labels import Claim, claims

WRITTEN = [
    ("The count is 42 [1]. They dance. [2][3] Bees fly [s2].", [("The count is 42.", (1,)), ("They dance.", (2, 3)), ("Bees fly.", (2,))]),
    ("[1] A method is used. [2] It works well.", [("A method is used.", (1,)), ("It works well.", (2,))]),
    ("X is good (1). Y is fine (2024). Z is bad (s2).", [("X is good.", (1,)), ("Y is fine (2024).", ()), ("Z is bad.", (2,))]),
    ("All hold [1, 3] and [2-4]; none [source 5].", [("All hold; none.", (1, 3, 2, 4, 5))]),
    ("It holds 【1†source】. It is so [1](https://x.example/y). So too [^2].", [("It holds.", (1,)), ("It is so.", (1,)), ("So too.", (2,))]),
    ("The interval [0, 1] holds it [1].", [("The interval [0, 1] holds it.", (1,))]),
    ("A wrong label stays one [77].", [("A wrong label stays one.", (77,))]),
    ("No labels at all. None here either", [("No labels at all.", ()), ("None here either.", ())]),
    ("According to sentence [1], it works. [2] states that bees dance.", [("It works.", (1,)), ("The paper states that bees dance.", (2,))]),
    (
        "**Answer:** The *count* is **42** [1].\n\n## Findings\n\n- item one [1]\n* item two [2].\n3. item three\n   goes on [3]\n\nIn short:\n| a cell |",
        [("The count is 42.", (1,)), ("Item one.", (1,)), ("Item two.", (2,)), ("Item three goes on.", (3,)), ("A cell.", ())],
    ),
    ("<think>Perhaps [1].\n\nNo.</think>\n\nThe count is 42 [1].", [("The count is 42.", (1,))]),
    ("<reasoning>x</reasoning>One is so [1]. <THINK>y</THINK>Two is so [2].", [("One is so.", (1,)), ("Two is so.", (2,))]),
    ("<think>The count is 42 [1].", []),
    ("A < b holds for <MASK> [1].", [("A < b holds for <MASK>.", (1,))]),
    ("The bound is $O(\\sqrt{n})$, e.g. for Fig. 3 by Doe et al. in it [1].", [("The bound is O(√(n)), e.g. for Fig. 3 by Doe et al. in it.", (1,))]),
    ("{braces} %s ${x} stay [1].", [("{braces} %s ${x} stay.", (1,))]),
    ("蜜蜂跳舞。[1] 它们飞。[2]", [("蜜蜂跳舞。", (1,)), ("它们飞。", (2,))]),
    ("", []),
    ("\n\n  \n", []),
    ("[1] [2]", []),
    ("---\n```\n***", []),
]


@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_sentences_and_labels_are_read_in_whatever_form(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert list(claims([text], 9)) == [Claim(*claim) for claim in expected]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_it_makes_no_difference_how_the_text_is_cut(text: str, expected: list[tuple[str, tuple[int, ...]]], size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(claims(pieces, 9)) == [Claim(*claim) for claim in expected]


def test_a_thought_without_a_beginning_is_dropped_as_far_as_it_is_not_out() -> None:
    assert list(claims(["I think so. Maybe.</think>The count is 42 [1]."], 9)) == [Claim("The count is 42.", (1,))]


def test_a_sentence_comes_as_soon_as_the_next_one_has_begun() -> None:
    taken: list[str] = []

    def pieces() -> list[str]:
        for piece in ("The count is 42 [1].", " They", " dance", " [2]. Bees", " fly"):
            taken.append(piece)
            yield piece

    reading = claims(pieces(), 9)
    assert (next(reading), len(taken)) == (Claim("The count is 42.", (1,)), 3)
    assert (next(reading), len(taken)) == (Claim("They dance.", (2,)), 5)
