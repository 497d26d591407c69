"""The check of written sentences: parts by hand, then seeded errors in sentences about the bundled papers.

``claims.jsonl`` holds 60 true sentences with which the check was tuned, 45 of them paraphrases, then 30 and 15 paraphrases written
later; ``turned`` is a false one made by hand: a negation, a direction or an order turned round, in the last 15 anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import paper

from qa_bot.claims import Number, links, misplaced_numbers, numbers, unheld_names
from qa_bot.polarity import contradicts
from qa_bot.selection import stems
from qa_bot.support import Source, Verdict, check, clauses
from vectorstore import Paper

CLAIMS = [json.loads(line) for line in (Path(__file__).parent / "claims.jsonl").read_text("utf-8").splitlines()]
NAMES = "Gemini Ultra|ImageNet|Qwen-72B|Kim et al.|Stanford|AlphaFold|BERT|WikiText-103|Mistral|OpenAI|MuJoCo|ResNet-50".split("|")
ADDED = (
    ", and it was deployed in three hospitals",
    ", because larger models memorize their inputs",
    ", which also halves the training cost",
    " and generalizes to audio and code",
    ", while needing no labelled data",
    ", so that regulators recommend it",
    ", and the authors won an award for it",
    ", which makes it robust to adversarial patches",
    " and works best with small learning rates",
    ", although older hardware cannot run it",
    ", and the effect grows with the size of the vocabulary",
    ", which explains the success of earlier benchmarks",
)


def sources(*papers: Paper) -> list[Source]:
    return [Source(passage, one) for one in papers for passage in one.passages]


PEBBLES = sources(
    paper("a"),  # We count pebbles on a beach. The count is 42. Code is at https://example.org/pebbles.
    paper("b", title="Weighing Shells", abstract="We weigh shells with a spring. Heavier shells do not float. ShellNet (SN) beats SandNet by 7%."),
)


@pytest.mark.parametrize(
    ("text", "labels", "verdict"),
    [
        ("The count is 42.", [1], Verdict((1,), "quoted")),
        ("The count is 42.", [4], Verdict((1,), "quoted")),
        ("Pebbles on a beach are counted.", [0], Verdict((0,), "checked")),
        ("Pebbles on a beach are counted.", [], Verdict((0,), "checked")),
        ("Pebbles on a beach are counted.", [99], Verdict((0,), "checked")),
        ("Pebbles on a beach are counted.", [3, -1], Verdict((0,), "checked")),
        ("There are forty pebbles on a beach.", [0], Verdict((), "unsupported", "no source has its number")),
        ("Pebbles on a beach in Spain are counted.", [0], Verdict((), "unsupported", "no source has the name Spain")),
        ("The code is at https://evil.example/pebbles.", [2], Verdict((), "unsupported", "no source has the link evil.example/pebbles")),
        ("All pebbles on a beach are counted.", [0], Verdict((), "unsupported", "it is stronger than its sources")),
        ("Heavier shells float.", [4], Verdict((), "unsupported", "it affirms what the source denies")),
        (
            "We weigh shells with a spring, heavier shells do not float, and ShellNet beats SandNet by 7%, which pleases tourists.",
            [3, 4, 5],
            Verdict((), "unsupported", "a clause of it is not in its sources"),
        ),
        ("SandNet beats ShellNet by 7%.", [5], Verdict((), "unsupported", "it compares the other way round")),
        ("Pebbles are counted on a beach, and shells are weighed with a spring.", [0, 3], Verdict((0, 3), "checked")),
        ("Elephants sleep.", [], Verdict((), "unsupported", "it names no source")),
        ("Elephants sleep.", [50], Verdict((), "unsupported", "it names a source that was not shown")),
        ("Here they are.", [0], Verdict((), "unsupported")),
    ],
)
def test_a_sentence_is_kept_with_the_sources_that_hold_it_or_dropped_with_the_fault(text: str, labels: list[int], verdict: Verdict) -> None:
    assert check(text, labels, PEBBLES) == verdict


def test_an_entailment_model_has_the_last_word() -> None:
    asked: list[tuple[str, str]] = []

    def refuses(premise: str, hypothesis: str) -> bool:
        asked.append((premise, hypothesis))
        return False

    text = "Pebbles on a beach are counted."
    assert check(text, [0], PEBBLES, entails=refuses) == Verdict((), "unsupported", "the entailment model does not follow")
    assert asked[0] == ("Counting Pebbles. We count pebbles on a beach.", text)
    assert check("The count is 42.", [1], PEBBLES, entails=refuses).support == "quoted"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("6.0×10^4 tons, 60,000 tons, 60k tons", [(60000, "")] * 3),
        ("2.5× or 2.5x, 2.5 times, 2.5-fold", [(2.5, "x")] * 4),
        ("53% and 53 percent", [(53, "%")] * 2),
        ("3-5× fewer", [(3, "x"), (5, "x")]),
        ("from 20% to 148%", [(20, "%"), (148, "%")]),
        ("eighteen models, no one, twice, half", [(18, ""), (2, "x"), (50, "%")]),
        ("10⁻³ and .5 in 2026", [(10, ""), (3, ""), (0.5, ""), (2026, "")]),
        ("an 8B-parameter model", [(8e9, "")]),
    ],
)
def test_numbers_are_read_with_their_units(text: str, found: list[tuple[float, str]]) -> None:
    assert [number for number, _, _ in numbers(text)] == [Number(*one) for one in found]


def test_links_are_read_without_what_surrounds_them() -> None:
    assert links("See (https://a.example/x_y). Or github.com/m/Cali, not e.g. this.") == ["a.example/x_y", "github.com/m/cali"]


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("However, GPT-4o beats LLaMA-3.3.", []),
        ("Researchers use GPT-4.", ["GPT-4"]),
        ("LLMs do it on 8 GPUs.", ["GPUs"]),
        ("Gemini does it.", ["Gemini"]),
        ("Training with Transformers helps.", []),
    ],
)
def test_names_must_occur_whole(text: str, lacking: list[str]) -> None:
    held = "GPT-4o and LLaMA-3.3-70B are LLMs, that is transformers."
    assert unheld_names(text, held, stems(held)) == lacking


@pytest.mark.parametrize(
    ("text", "held", "turned"),
    [
        ("It does not transfer.", "It transfers.", True),
        ("It transfers.", "It does not transfer.", True),
        ("It doesn't transfer.", "It fails to transfer.", False),
        ("It needs no labels.", "It works without labels.", False),
        ("It is unstable.", "It is stable.", True),
        ("It is unstable.", "It is not stable.", False),
        ("It is not only fast but cheap.", "It is fast and cheap.", False),
        ("It raises the cost.", "It lowers the cost.", True),
        ("It raises the accuracy.", "It raises the accuracy and lowers the cost.", False),
        ("It lowers the accuracy.", "It raises the accuracy and lowers the cost.", True),
        ("Small models beat large ones.", "Large models outperform small ones.", True),
        ("Large models are outperformed by small ones.", "Small models outperform large ones.", False),
        ("It rotates activations instead of shifting them.", "Rather than shifting activations, it rotates them.", False),
        ("It shifts activations instead of rotating them.", "Rather than shifting activations, it rotates them.", True),
    ],
)
def test_what_is_turned_round_is_noticed(text: str, held: str, turned: bool) -> None:
    assert bool(contradicts(text, held)) == turned


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("97% of birds and 53% of bees.", False),
        ("Bees fail at 53% and birds at 97%.", False),
        ("97% of bees and 53% of birds.", True),
        ("53% of bees.", False),
    ],
)
def test_numbers_in_each_others_place_are_noticed(text: str, turned: bool) -> None:
    assert bool(misplaced_numbers(text, "The rate was 53% of bees and 97% of birds.")) == turned
    assert misplaced_numbers("From 7% to 23%.", "It falls from 23% to 7%.")


def test_clauses_end_where_something_could_be_added() -> None:
    assert clauses("A is b, which does c (d) because e; f at https://x.example/a,b and g.") == [
        "A is b",
        "does c",
        "d",
        "e",
        "f at https://x.example/a,b",
        "g.",
    ]


def shown(bundled: tuple[Paper, ...], paper_id: str) -> list[Source]:
    """The sentences of a paper and of two others, as a question would find them."""
    at = next(number for number, one in enumerate(bundled) if one.id == paper_id)
    return sources(*(bundled[(at + step) % len(bundled)] for step in range(3)))


def changed_number(text: str, number: int) -> str:
    masked = re.sub(r"[A-Za-z-]\d+|\d+[A-Za-z]", lambda match: "_" * len(match[0]), text)
    if found := re.search(r"\d+(?:\.\d+)?", masked):
        return text[: found.start()] + str(int(float(found[0])) + 7 + number) + text[found.end() :]
    return text.rstrip(".") + f" by {31 + number}%."


def invented_name(text: str, number: int) -> str:
    name = NAMES[number % len(NAMES)]
    return (f"{text.rstrip('.')} on {name}.", f"{name} shows that {text[0].lower()}{text[1:]}", f"{text.rstrip('.')}, as {name} does.")[number % 3]


def added_clause(text: str, number: int) -> str:
    return text.rstrip(".") + ADDED[number % len(ADDED)] + "."


def seeded(bundled: tuple[Paper, ...], part: str) -> Iterator[tuple[str, bool]]:
    """For each true sentence whether it is kept, and for each one made of it whether the error is caught."""
    for number, claim in enumerate(row for row in CLAIMS if row["part"] == part):
        paper_id = claim["source"].partition("#")[0]
        among = shown(bundled, paper_id)
        own = next(at for at, source in enumerate(among) if source.passage.id == claim["source"])
        text = claim.get("claim") or among[own].passage.text
        yield "true", own in check(text, [own], among).sources
        swapped = next(at for at, source in enumerate(among) if source.passage.paper_id != paper_id) + 2
        yield "citation", swapped not in check(text, [swapped], among).sources
        for kind, break_it in (("number", changed_number), ("name", invented_name), ("clause", added_clause)):
            yield kind, not check(break_it(text, number), [own], among).sources
        if "turned" in claim:
            yield "turned", not check(claim["turned"], [own], among).sources


@pytest.mark.parametrize(
    ("part", "figures"), [("tuned", {"true": 57, "turned": 34}), ("later", {"true": 29, "turned": 15}), ("last", {"true": 15, "turned": 11})]
)
def test_seeded_errors_are_caught_and_true_sentences_kept(bundled: tuple[Paper, ...], part: str, figures: dict[str, int]) -> None:
    outcomes = list(seeded(bundled, part))
    good = {kind: sum(right for name, right in outcomes if name == kind) for kind, _ in outcomes}
    of = {kind: sum(name == kind for name, _ in outcomes) for kind in good}
    kinds = ("citation", "number", "name", "clause")
    assert good["true"] / of["true"] >= 0.9
    assert sum(good[kind] for kind in kinds) / sum(of[kind] for kind in kinds) >= 0.95
    assert {kind: good[kind] for kind in figures} == figures
