from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import paper, three

from qa_bot.answer import Sentence, citation
from qa_bot.listing import Author, Query, Term, Words, compose, matching, parse
from qa_bot.listing_terms import forms
from qa_bot.records import entry
from vectorstore import Embedder, PaperIndex


@pytest.fixture(scope="module")
def beach(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[PaperIndex]:
    """The three papers and a fourth, for tests that only read."""
    fourth = paper(
        "d",
        title="Deep-Sea Shells",
        abstract="Shells of the deep sea (DSS) at github.com/sea.",
        authors=["Bo Shell", "Ada Pebble", "Di Reef"],
        topic="Seas->Non-Shells",
    )
    with PaperIndex.create(tmp_path_factory.mktemp("beach") / "index", [*three(), fourth], embedder) as opened:
        yield opened


def word(text: str) -> Term:
    return Term(text)


def quoted(text: str) -> Term:
    return Term(text, "quoted")


ADA, BO, JOSE = Author("Ada Pebble"), Author("Bo Shell"), Author("José Núñez")

CASES: list[tuple[str, dict[str, Any], str]] = [
    ("How many papers did Ada Pebble write?", {"authors": (ADA,)}, "ad"),
    ("papers by pebble ada", {"authors": (ADA,)}, "ad"),
    ("Could you list all articles by A. Pebble, please", {"authors": (ADA,)}, "ad"),
    ("how many publications does jose nunez have", {"authors": (JOSE,)}, "c"),
    ("Which papers list Ada Peble among the authors?", {"authors": (ADA,)}, "ad"),
    ("How many papers did Ada Pebble and Bo Shell write together?", {"authors": (ADA, BO)}, "ad"),
    ("How many papers are by José Núñez or Bo Shell?", {"authors": (JOSE, BO), "any_author": True}, "acd"),
    ("On how many papers is Bo Shell the first author?", {"authors": (Author("Bo Shell", "first"),)}, "d"),
    ("How many papers have Bo Shell as last author?", {"authors": (Author("Bo Shell", "last"),)}, "a"),
    ("How many papers by Zoe Nobody are there?", {"authors": (Author("Zoe Nobody"),)}, ""),
    ("How many papers have at least one author with the surname Shell?", {"surnames": ("Shell",)}, "ad"),
    ("number of papers by an author called Sand", {"surnames": ("Sand",)}, "b"),
    ("Name the works by Reef et al.", {"surnames": ("Reef",)}, "d"),
    ("How many of the papers have exactly two authors?", {"author_count": (2, 2)}, "a"),
    ("Are there any single-author papers?", {"author_count": (1, 1)}, "bc"),
    ("How many papers have more than one author", {"author_count": (2, None)}, "ad"),
    ("Which papers have fewer than 3 authors?", {"author_count": (1, 2)}, "abc"),
    ("How many papers have between 2 and three authors?", {"author_count": (2, 3)}, "ad"),
    ("How many papers are filed under the topic Beaches->Pebbles?", {"topics": ("Beaches->Pebbles",)}, "a"),
    ("papers in the category “Beaches → Shells”", {"topics": ("Beaches->Shells",)}, "b"),
    ("How many papers are filed under Shells (not Non-Shells)?", {"topics": ("Beaches->Shells",)}, "b"),
    ("how many papers have the topic non-shells", {"topics": ("Seas->Non-Shells",)}, "d"),
    ("How many papers does the category Beaches contain?", {"topics": ("Beaches",)}, "ab"),
    ("How many papers fall under Beaches->Shells or Seas->Non-Shells?", {"topics": ("Beaches->Shells", "Seas->Non-Shells")}, "bd"),
    ("How many papers were published in 2024?", {"years": (2024, 2024)}, "b"),
    ("list every paper from 2024 to 2025", {"years": (2024, 2025)}, "bc"),
    ("how many papers from 2024 or 2025", {"years": (2024, 2025)}, "bc"),
    ("Count the papers since 2025", {"years": (2025, None)}, "acd"),
    ("How many papers appeared at BeachConf 2026?", {"venues": ("BeachConf 2026",)}, "ad"),
    ("How many papers were published at BeachConf 2025?", {"venues": ("BeachConf 2025",)}, ""),
    ("How many papers mention shells?", {"words": (Words((word("shells"),)),)}, "bd"),
    ("do any papers mention flower", {"words": (Words((word("flower"),)),)}, "c"),
    ("How many papers mention 'flower'?", {"words": (Words((quoted("flower"),)),)}, ""),
    ("In how many abstracts does the word beach occur?", {"words": (Words((word("beach"),), "abstract"),)}, "a"),
    ("Which papers have “deep sea” in their title?", {"words": (Words((quoted("deep sea"),), "title"),)}, "d"),
    ("how many titles contain the word pebbles", {"words": (Words((word("pebbles"),), "title"),)}, "a"),
    ("Is dance mentioned in any title?", {"words": (Words((word("dance"),), "title"),)}, "c"),
    ("How many abstracts mention the deep sea (spelled out or as DSS)?", {"words": (Words((word("deep sea"), word("DSS")), "abstract"),)}, "d"),
    ("papers with spring or flowers in the abstract", {"words": (Words((word("spring"), word("flowers")), "abstract"),)}, "bc"),
    ("How many papers mention both pebbles and code?", {"words": (Words((word("pebbles"),)), Words((word("code"),)))}, "a"),
    (
        "How many papers have 'shells' in the title and 'grams' in the abstract?",
        {"words": (Words((quoted("shells"),), "title"), Words((quoted("grams"),), "abstract"))},
        "b",
    ),
    ("How many abstracts contain a github.com link?", {"words": (Words((quoted("github.com"),), "abstract"),)}, "d"),
    ("how many papers have a link to code in the abstract", {"words": (Words((Term("link to code", "code link"),), "abstract"),)}, "ad"),
    (
        "Of the papers filed under Beaches->Shells, how many mention shells in the title?",
        {"topics": ("Beaches->Shells",), "words": (Words((word("shells"),), "title"),)},
        "b",
    ),
    ("How many of Ada Pebble's papers are filed under Seas->Non-Shells?", {"authors": (ADA,), "topics": ("Seas->Non-Shells",)}, "d"),
    (
        "How many papers by Bo Shell from 2026 mention the sea, and which ones?",
        {"authors": (BO,), "years": (2026, 2026), "words": (Words((word("sea"),)),)},
        "d",
    ),
]


@pytest.mark.parametrize(("question", "fields", "ids"), CASES, ids=[case[0] for case in CASES])
def test_questions_are_read_and_answered_whole(beach: PaperIndex, question: str, fields: dict[str, Any], ids: str) -> None:
    query = parse(question, beach)
    assert query == Query(**fields)
    assert "".join(sorted(found.id for found in matching(query, beach))) == ids


@pytest.mark.parametrize(
    "question",
    [
        "How many papers are there?",
        "How many papers are about shells?",
        "which papers study protein folding?",
        "How many pebbles were counted?",
        "How many authors does Counting Pebbles have?",
        "Which authors have papers filed under Beaches->Shells?",
        "What accuracy does the paper by Ada Pebble reach?",
        "Which papers by Ada Pebble are about shells?",
        "When was the paper by Ada Pebble published?",
        "Did they write papers with Ada Pebble?",
        "How many of those papers mention shells?",
        "Do these authors have another paper? Ada Pebble for example",
        "Give me the abstracts of the papers by Ada Pebble",
        "How many papers use a spring?",
        "Which papers mention that shells weigh 7 grams?",
        "Which paper mentions shells?",
        "How many papers contain a proof?",
        "How many papers mention shells (the empty kind)?",
        "How many papers have 2 or 5 authors?",
        "How many papers were published in 2024 and 2026?",
        "Was it the paper that Ada Pebble wrote?",
        "How many papers are not filed under Beaches->Shells?",
        "How many papers mention shells but not pebbles?",
        "How many papers mention neither shells nor pebbles?",
        "How many papers are filed under Mountains?",
        "Ada Pebble was here",
        "",
        "papers by Ada Pebble " * 200,
    ],
)
def test_what_records_cannot_decide_is_no_query(beach: PaperIndex, question: str) -> None:
    assert parse(question, beach) is None


def test_a_name_that_is_near_two_authors_is_no_query(tmp_path: Path, embedder: Embedder) -> None:
    papers = [paper("a", authors=["Han Liu"]), paper("b", authors=["Hao Liu"]), paper("c", authors=["Wei Cheng"]), paper("d", authors=["Wei Wu"])]
    with PaperIndex.create(tmp_path / "index", papers, embedder) as index:
        assert parse("papers by H. Liu", index) is None
        assert parse("papers by Wei Chen", index) == Query(authors=(Author("Wei Chen"),))  # not Wei Cheng
        assert parse("papers by Hna Liu", index) == Query(authors=(Author("Han Liu"),))


@pytest.mark.parametrize(
    ("question", "stated"),
    [
        ("papers by Ada Pebble and Bo Shell", "2 papers list Ada Pebble and Bo Shell as authors."),
        ("papers by Ada Peble from 2024", "No paper lists Ada Pebble as an author and is from 2024."),
        (
            "papers filed under Beaches from 2024 or later with a single author",
            "1 paper has exactly 1 author, is filed under Beaches and is from 2024 or later.",
        ),
        ("papers with at least two authors at BeachConf 2026", "2 papers have at least 2 authors and appeared at BeachConf 2026."),
        ("papers that mention 'shells' or 'pebbles'", "3 papers have the words “shells” or “pebbles” in the title or abstract."),
        ("papers that mention flower", "1 paper has the word “flower” (singular or plural) in the title or abstract."),
        ("abstracts with the phrase 'deep sea'", "1 paper has the phrase “deep sea” in the abstract."),
        ("papers with a link in the abstract", "2 papers have a link in the abstract."),
        ("papers with the surname Shell and 'deep' in the title", None),
    ],
)
def test_the_total_says_what_was_counted(beach: PaperIndex, question: str, stated: str | None) -> None:
    query = parse(question, beach)
    assert (compose(query, matching(query, beach))[0][0].text if query else None) == stated


def test_an_answer_lists_each_paper_with_its_citation(beach: PaperIndex) -> None:
    query = Query(words=(Words((Term("shells"),)),))
    found = matching(query, beach)
    assert compose(query, found) == (
        (
            Sentence("2 papers have the word “shells” in the title or abstract.", (1, 2), "checked"),
            Sentence("“Deep-Sea Shells” (BeachConf 2026), by Bo Shell, Ada Pebble and Di Reef.", (1,), "checked"),
            Sentence("“Weighing Shells” (ShellConf), by Cy Sand.", (2,), "checked"),
        ),
        (citation(1, found[0]), citation(2, found[1])),
    )
    assert compose(query, []) == ((Sentence("No paper has the word “shells” in the title or abstract.", (), "checked"),), ())


def test_at_most_fifty_papers_are_listed() -> None:
    papers = [paper(f"p{number}", title=f"Pebble {number}") for number in range(1200)]
    sentences, citations = compose(Query(years=(2026, 2026)), papers)
    assert sentences[0] == Sentence("1,200 papers are from 2026; the first 50 by title follow.", tuple(range(1, 51)), "checked")
    assert [sentence.text for sentence in sentences[1:]] == [entry(found) for found in papers[:50]]
    assert [cited.paper_id for cited in citations] == [f"p{number}" for number in range(50)]


def test_a_write_is_noticed(small: PaperIndex) -> None:
    query = Query(words=(Words((Term("pebbles"),), "title"),))
    assert [found.id for found in matching(query, small)] == ["a"]
    small.add([paper("d", title="More Pebbles"), paper("a", title="Counting Stones")])
    assert [found.id for found in matching(query, small)] == ["d"]
    small.remove(["d"])
    assert matching(query, small) == []


def test_singular_and_plural() -> None:
    assert {"backdoors", "backdoor"} <= set(forms("backdoors"))
    assert {"policies", "policy"} <= set(forms("policy"))
    assert {"analysis", "analyses"} <= set(forms("analyses"))
    assert "planes" not in forms("plan")
    assert forms("L0") == ("L0",)


def test_words_are_whole_and_hyphens_and_accents_do_not_count(tmp_path: Path, embedder: Embedder) -> None:
    texts = ["Chain‑of‑Thought monitors.", "A chain of thought.", "Chains of thought.", "Unchained thought.", "The Nyström method.", "Anti-Nystrom!"]
    papers = [paper(str(number), abstract=text, title="None") for number, text in enumerate(texts)]
    with PaperIndex.create(tmp_path / "index", papers, embedder) as index:

        def found(term: Term) -> str:
            return "".join(sorted(match.id for match in matching(Query(words=(Words((term,), "abstract"),)), index)))

        assert found(Term("chain of thought")) == "012"
        assert found(Term("chain-of-thought", "quoted")) == "01"
        assert found(Term("Nystrom", "quoted")) == found(Term("Nyström")) == "45"


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("how many papers use the word privacy in the title or the abstract", 4),
        ("How many papers contain the word 'steering' in their title or abstract?", 5),
        ("Of the papers filed under Accountability, Transparency, and Interpretability, how many mention watermarks or watermarking?", 2),
        ("How many abstracts mention chain-of-thought (spelled out or as CoT)?", 4),
        ("how many of the abstracts contain a github.com link?", 6),
        ("How many papers have at least one author with the surname Zhang?", 9),
        ("List all papers co-authored by Maojiang Su. How many are there?", 2),
    ],
)
def test_the_bundled_papers(index: PaperIndex, question: str, count: int) -> None:
    query = parse(question, index)
    assert query is not None
    assert len(matching(query, index)) == count
