"""The same thing at the same place is told once, and again when it gets worse or comes back."""

from __future__ import annotations

from stethoscope.findings import Severity
from stethoscope.watching.alerts import CLEAR_FOR, CONFIRMED, Alert, Memories, Sighting, Why, update
from tests.watching.runs import seen

NOTE, WARNING, CRITICAL = Severity.NOTE, Severity.WARNING, Severity.CRITICAL


def told(*judgements: list[Sighting], memories: Memories | None = None) -> list[tuple[Alert, ...]]:
    """What is told after each judgement."""
    memories = memories or {}
    answers = []
    for judgement in judgements:
        memories, alerts = update(memories, judgement)
        answers.append(alerts)
    return answers


def whys(answers: list[tuple[Alert, ...]]) -> list[list[str]]:
    return [[alert.why.value for alert in alerts] for alerts in answers]


def test_a_warning_on_a_curve_is_told_once_it_is_confirmed_and_then_never_again() -> None:
    assert CONFIRMED == 2
    assert whys(told(*[[seen()]] * 5)) == [[], ["found"], [], [], []]


def test_a_warning_that_is_seen_only_once_is_not_told_at_all() -> None:
    assert whys(told([seen()], [], [seen()], [], [], [])) == [[]] * 6


def test_what_is_critical_or_stands_in_a_file_is_told_at_once() -> None:
    assert whys(told([seen(CRITICAL)])) == [["found"]]
    assert whys(told([seen(series=None, line=12)])) == [["found"]]


def test_a_judgement_that_may_be_the_last_tells_at_once() -> None:
    _, alerts = update({}, [seen()], at_once=True)
    assert [alert.why for alert in alerts] == [Why.FOUND]


def test_what_gets_worse_is_told_again_and_what_gets_better_is_not() -> None:
    answers = told([seen()], [seen()], [seen(CRITICAL)], [seen()], [seen(CRITICAL)])
    assert whys(answers) == [[], ["found"], ["worse"], [], []]
    assert answers[2][0].before is WARNING


def test_each_step_from_note_to_critical_is_told() -> None:
    notes = [seen(NOTE)] * 2
    answers = told(*[[one] for one in notes], [seen(WARNING)], [seen(CRITICAL)])
    assert whys(answers) == [[], ["found"], ["worse"], ["worse"]]


def test_what_is_clear_for_long_enough_is_told_and_so_is_its_return() -> None:
    gone: list[list[Sighting]] = [[]] * CLEAR_FOR
    answers = told([seen(CRITICAL)], *gone, [], [seen(CRITICAL)], [seen(CRITICAL)])
    assert whys(answers) == [["found"], [], [], ["clear"], [], ["back"], []]


def test_a_finding_that_comes_and_goes_at_its_threshold_is_told_once() -> None:
    flapping = [[seen(CRITICAL)], [], [seen(CRITICAL)], [], []] * 3
    assert sum(len(alerts) for alerts in told(*flapping)) == 1


def test_the_same_rule_at_another_place_is_another_alert() -> None:
    answers = told([seen(CRITICAL)], [seen(CRITICAL), seen(CRITICAL, series="loss/l1")])
    assert whys(answers) == [["found"], ["found"]]
