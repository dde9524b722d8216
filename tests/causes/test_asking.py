"""What to find out next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stethoscope.causes import Means, RankedCause, Standing, speaks_against
from stethoscope.causes.asking import to_ask
from stethoscope.causes.cause import (
    DECISIVE,
    MODERATE,
    OCCASIONAL,
    STRONG,
    WEAK,
    Cause,
    CauseEntry,
    Evidence,
    Outcome,
)
from stethoscope.findings import Examination, NotExamined, rule_named
from stethoscope.signals import Missing


def ranked(name: str, *evidence: Evidence, chance: float = 0.5) -> RankedCause:
    cause = Cause("It is so", OCCASIONAL, evidence, f"try {name}")
    return RankedCause(CauseEntry(name, cause, "", ""), chance, Standing.PLAUSIBLE, (), ())


def blind(**lines: str) -> Examination:
    """An examination in which these rules could not look, each with what should have been logged."""
    return Examination(
        (), (), tuple(NotExamined(rule_named(rule), Missing("", line)) for rule, line in lines.items())
    )


RATE = "log the rate"
LOSS = "log the loss"


def test_what_decides_more_comes_first() -> None:
    cause = ranked(
        "one",
        Evidence("loss-spike", WEAK, "a little"),
        Evidence("divergence", DECISIVE, "all"),
        Evidence("divergence", -DECISIVE, "nothing", outcome=Outcome.CLEAR),
    )
    asked = to_ask([cause], blind(loss_spike=RATE, divergence=LOSS))
    told = {question.what: question.bits for question in asked}
    assert told[LOSS] > 10 * told.get(RATE, 0.0)
    assert asked[0].what == "try one"  # an experiment decides altogether
    assert asked[0].means is Means.TRY
    assert 0.9 < told[LOSS] < asked[0].bits == pytest.approx(1.0)


def test_a_line_that_tells_about_two_causes_counts_for_both() -> None:
    evidence = Evidence("divergence", STRONG, "it runs away")
    one = to_ask([ranked("one", evidence)], blind(divergence=LOSS))
    both = to_ask([ranked("one", evidence), ranked("two", evidence)], blind(divergence=LOSS))
    single = next(question for question in one if question.means is Means.LOG)
    double = next(question for question in both if question.means is Means.LOG)
    assert double.bits == pytest.approx(2 * single.bits)
    assert set(double.decides) == {"one", "two"}


def test_what_is_sure_proved_or_contradicted_is_not_asked_about() -> None:
    evidence = Evidence("divergence", STRONG, "it runs away")
    sure = ranked("sure", evidence, chance=0.99)
    proved = replace(ranked("proved", evidence), standing=Standing.PROVED)
    contradicted = replace(ranked("contradicted", evidence), standing=Standing.CONTRADICTED)
    assert to_ask([sure, proved, contradicted], blind(divergence=LOSS)) == ()


def test_a_rule_that_no_cause_speaks_of_tells_nothing() -> None:
    asked = to_ask([ranked("one")], blind(divergence=LOSS))
    assert [question.what for question in asked] == ["try one"]


def test_the_heaviest_evidence_against_a_cause_would_refute_it() -> None:
    cause = ranked(
        "one",
        Evidence("divergence", -MODERATE, "it is calm", outcome=Outcome.CLEAR),
        Evidence("loss-spike", -STRONG, "it jumps"),
    )
    assert speaks_against(cause) == "it jumps"
    assert speaks_against(ranked("two", Evidence("divergence", STRONG, "it runs away"))) is None
