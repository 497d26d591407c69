"""Words that mean the same in abstracts, and words that mean nothing there, for comparing a sentence with its sources."""

from __future__ import annotations

from qa_bot.selection import stems

EMPTY = stems(
    """abstract according actually address aim analyze approach argue article author based call called claim conclude confirm consider contribution describe
    demonstrate discuss establish evidence experiment experimental explain explore extensive find finding follow following framework furthermore give
    given highlight however idea indicate investigate introduce known look main method moreover namely named note novel new observe offer paper particular
    perform point present problem propose proposed provide publication read report research researcher result reveal scheme section see sentence
    show shown source specifically state study suggest system technique term text thus titled type version way well work write
    additionally also instead therefore hence thereby overall finally allow let make able can take help across among within without
    rather than two-fold respectively e.g i.e eg ie et al""".replace("-", " ")
)
"""Stems of words that say who says it, or what kind of thing it is, but make no claim of their own."""

SAME = {
    stem: next(iter(sorted(stems(group))))
    for group in (
        "increase raise boost grow higher amplify enhance improve improvement gain better strengthen rise",
        "reduce lower decrease cut drop decline fall diminish shrink fewer less dampen lessen",
        "big large huge larger bigger greater",
        "fast quick rapid faster quicker quickly",
        "error mistake fault erroneous wrong incorrect",
        "use employ utilize leverage apply adopt exploit rely usage utilizing",
        "need require demand necessary",
        "build construct create develop design form compose generate produce",
        "measure quantify evaluate assess test estimate assessment evaluation track",
        "train fit learn training",
        "choose select pick selection choice",
        "change modify alter vary adjust adapt scale",
        "sample instance example",
        "cause lead induce trigger produce yield cause bring",
        "keep preserve maintain retain",
        "outperform surpass beat exceed superior better best ahead",
        "worsen degrade hurt harm weaken impair undermine worse",
        "detect identify recognize spot find discover uncover detection",
        "fragile unstable volatile brittle instability",
        "answer response output reply",
        "goal objective target purpose",
        "typical usual common normal commonly typically usually often frequently",
        "part portion component piece",
        "show exhibit display",
        "depend hinge rely",
        "difficult hard challenging challenge struggle",
        "user people customer human person",
        "split divide separate partition",
        "company provider vendor",
        "charge price cost bill pay overcharge",
        "llm language",
        "combine integrate merge join fuse fusion together",
        "available public open publicly released release accessible",
        "conventional traditional classic standard existing prior previous earlier",
        "secure safe protect protection safety",
        "attack adversarial attacker adversary",
        "different distinct diverse various",
        "remove delete eliminate erase forget unlearn",
        "extend expand broaden",
        "guide steer direct",
    )
    for stem in stems(group)
}
"""For stems that papers use for one another, the one that stands for all of them."""
