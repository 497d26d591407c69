"""Sentences that speak to whoever reads the collection for the user instead of to the reader of a paper.

Anybody can write an abstract. An order to an assistant in one is not evidence for anything, so it is neither quoted nor shown
to a language model. The patterns are few and look for the address, not for the subject: papers on prompt injection stay
quotable, as a count over 41,761 sentences of ICML 2026 showed (docs/answers.md).
"""

from __future__ import annotations

import re
from dataclasses import replace

from vectorstore import Found
from vectorstore.text import fold

_PLANTED = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|preceding|all|any|your)\b.{0,20}\b(?:instructions?|prompts?|rules|messages?)\b"
    r"|\b(?:reply|respond|answer)(?: \w+)? (?:only )?with(?: only)? (?:the (?:word|words|phrase|text)|exactly|[\"“'«]|(?-i:[A-Z]{3,}))"
    r"|\b(?:note|message|instructions?|attention)[,:]? (?:to|for) (?:(?:all|any|the) )?(?:ai |llm |language )?(?:assistants?|chat ?bots?|models?|agents?|reviewers?)\b\s*[:,—-]"
    r"|\b(?:whoever|anyone who|if (?:a user|someone|anyone)) asks?\b.{0,200}\b(?:answer|tell|told|say|reply)\b"
    r"|^\W*(?:system|assistant|user|developer)\s*:|[-—=#*]{1,}\s*(?:end|begin|start) of (?:the )?(?:sources?|context|documents?|data|abstracts?|prompt)\b"
    r"|</?(?:context|system|source|sources|document|instructions?|user|assistant)>"
    r"|\byou (?:are now|must now|must print|must reveal|must answer|have to answer)\b|\bfrom now on\b.{0,30}\b(?:answer|reply|you|every)\b"
    r"|\b(?:dear|hey|hello) (?:ai|chat ?bot|assistant|llm|language model|model|bot)\b|\b(?:ignore|disregard|forget) (?:the|everything|all) (?:above|that came before|of the above)\b"
    r"|\bwhen(?:ever)? (?:you are )?asked (?:about|for|whether|which|what|to)\b.{0,120}\b(?:always|never|say|answer|cite|reply|recommend)\b"
    r"|\b(?:assistants?|chat ?bots?|language models|llms|bots?) (?:should|must|have to|are (?:asked|required|instructed) to) (?:only|always|never|recommend|cite|say|answer|reply|prefer|state)\b"
    r"|^\W*(?:important\W+)?(?:do not|don't|never) (?:mention|cite|recommend|quote|use) any other\b"
    r"|\b(?:print|reveal|repeat|output) your (?:system )?(?:prompt|instructions)\b|\bdeveloper mode\b"
    r"|\bto the question\b.{0,400}\banswer is\b|\bevery (?:question|answer)\b.{0,200}\bis\b.{0,20}\b(?:answered|the same\b|there\b|(?-i:[A-Z]{3,}-?\d))"
    r"|<\s*(?:script|img|iframe|svg|style|object|embed|form|input)\b|\bon(?:error|load|click|mouseover)\s*="
    r"|\{\s*\"(?:answer|citations|role|content)\"\s*:",
    re.I,
)


def is_planted(sentence: str) -> bool:
    """Whether the sentence gives orders to an assistant, pretends to end the data, or dictates the answer to a question."""
    return _PLANTED.search(sentence) is not None


def quotable(found: Found, left_out: frozenset[str]) -> Found:
    """The hits without those left out, without copies of one record, which would fill an answer, and without planted sentences."""
    first = {(fold(hit.paper.title), hit.paper.abstract): hit for hit in reversed(found.hits)}
    kept = (hit for hit in found.hits if hit.paper.id not in left_out and first[fold(hit.paper.title), hit.paper.abstract] is hit)
    cleaned = (replace(hit, passages=tuple(scored for scored in hit.passages if not is_planted(scored[0].text))) for hit in kept)
    return replace(found, hits=tuple(hit for hit in cleaned if hit.passages))
