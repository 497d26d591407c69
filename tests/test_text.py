from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vectorstore.text import MAX_PASSAGE_TOKENS, clean, fold, search_text, sentence_spans


@pytest.mark.parametrize(
    ("raw", "readable"),
    [
        # formulas become readable text
        (r"a $2.5\times$ gain, $K \geq 2$", "a 2.5× gain, K ≥ 2"),
        (r"$\mathcal{O}(C_{K-1}\sqrt{T})$ in $\mathbb{R}^{2k}$", "𝒪(C_(K-1)√(T)) in ℝ^(2k)"),
        (r"$\frac{1}{2}$ and $\frac{a+b}{c}$", "1/2 and (a+b)/c"),
        (r"uses $\texttt{Llama}$ and \texttt{Qwen-2}", "uses Llama and Qwen-2"),
        (r"\emph{$\gamma$-resilient algorithms} by us", "γ-resilient algorithms by us"),
        (r"\(x_i\) and \[y^2\] and $$z$$", "x_i and y^2 and z"),
        (r"4$\times$4, 9$\times$9", "4×4, 9×9"),
        (r"only $\sim$10\% of it", "only ∼10% of it"),
        # money is no formula
        ("$5 million and $7 million", "$5 million and $7 million"),
        ("from $5-$7 to $1.1M", "from $5-$7 to $1.1M"),
        (r"costs \$5, accuracy $0.5$", "costs $5, accuracy 0.5"),
        ("$0.20 per 1M tokens, $k$-means", "$0.20 per 1M tokens, k-means"),
        # prose keeps what LaTeX would swallow
        ("~10% to ~20% of snake_case_names & 2*3*4 #1", "~10% to ~20% of snake_case_names & 2*3*4 #1"),
        (r"85\% of Fig.~3 \emph{here} \& there", "85% of Fig. 3 here & there"),
        (r"\method beats \citep{x} \url{https://a.b/c_d}", "method beats https://a.b/c_d"),
        (r"\verb|a_b| in \ref{fig:1} \today", "a_b in"),
        (r"Erd\H{o}s, caf\'e", "Erdős, café"),
        # Markdown
        ("**S**patio-**T**emporal **REsidual** *it*", "Spatio-Temporal REsidual it"),
        (r"**the $\ell_2$ norm**", "the ℓ_2 norm"),
        ("the *-algebra and C*-algebra", "the *-algebra and C*-algebra"),
        ("see [our page](https://a.b)", "see our page (https://a.b)"),
        # HTML
        ("AT&amp;amp;T, p &lt; 0.05, don&#8217;t", "AT&T, p < 0.05, don’t"),
        ("<jats:p>One.</jats:p><jats:p>Two.</jats:p>", "One. Two."),
        ("10<sup>-3</sup> x<sup>2</sup> y<sup>a+b</sup>", "10^-3 x^2 y^(a+b)"),
        ("a <b and c> d, p<i and j>k", "a <b and c> d, p<i and j>k"),
        ("<p class=\"x\">One <a href='y'>two</a></p>", "One two"),
        ("AT&amp;T &para R&copyright", "AT&T &para R&copyright"),
        ("H<sub>2</sub>O <MASK> <script>alert(1)</script>", "H2O <MASK> <script>alert(1)</script>"),
        # characters
        ("ﬁnite error 10⁻³ H₂O", "finite error 10⁻³ H₂O"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("soft\u00adhyphen zero\u200bwidth \u202eevil", "softhyphen zerowidth evil"),
        ("a\n\n b\tc \x00d", "a b c d"),
        # malformed input stays as it is
        (r"broken $x and \frac{", r"broken $x and \frac{"),
    ],
)
def test_clean_gives_readable_text(raw: str, readable: str) -> None:
    assert clean(raw) == readable


def test_clean_replaces_lone_surrogates() -> None:
    assert clean(json.loads(r'"a \ud800 b"')) == "a \ufffd b"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab 1$\\{}_^*~%&<>[]()|.,-\n\t\u00e9\u4e2d\ud800\ue000") | st.characters(), max_size=80))
def test_clean_never_fails_and_gives_one_line(raw: str) -> None:
    readable = clean(raw)
    assert readable == " ".join(readable.split())
    readable.encode("utf-8")


def test_sentences_are_exact_spans_in_order() -> None:
    text = "We use e.g. BERT (Devlin et al. 2019). It is 3.5 times faster. See https://a.b/c.d for code."
    spans = sentence_spans(text)
    assert [text[start:end] for start, end in spans] == ["We use e.g. BERT (Devlin et al. 2019).", "It is 3.5 times faster.", "See https://a.b/c.d for code."]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("abc .,;!?\u4e2d\u3002'\"()1\U0001f600"), max_size=400))
def test_sentences_cover_every_character_once(raw: str) -> None:
    text = clean(raw)
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("pebbles and shells, ", 400),
        ("海滩上的卵石", 300),
        ("(a+b)^2=", 300),
        ("Мы считаем гальку ", 120),
        ("GRPO DPO RLHF ", 120),
        ("4815162342 ", 60),
        ("Xiangyuan Zbigniew ", 120),
    ],
)
def test_a_giant_sentence_is_cut_below_the_window(unit: str, times: int, embedder: object) -> None:
    text = clean(unit * times)
    spans = sentence_spans(text)
    assert len(spans) > 1
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")
    tokenizer = embedder._query_model.tokenizer  # type: ignore[attr-defined]
    assert max(len(tokenizer.tokenize(text[start:end])) for start, end in spans) <= 245
    assert MAX_PASSAGE_TOKENS < 230


def test_fold_compares_names_without_accents_case_and_dashes() -> None:
    assert fold("José  García–Núñez") == fold("jose garcia-nunez") == "jose garcia-nunez"
    assert fold("Søren Strauß") == "soren strauss"


def test_search_text_folds_what_a_keyboard_lacks() -> None:
    assert search_text("10⁻³ ﬁnite می\u200cخواهم") == "10-3 finite میخواهم"
