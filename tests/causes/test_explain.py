"""How findings become ranked causes."""

from __future__ import annotations

import pytest

from stethoscope.causes import CauseEntry, Explanation, Standing, explain
from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, Outcome
from stethoscope.findings import Examination, Finding, Found, RuleEntry, Severity, Subject
from stethoscope.run import Where


def rule(name: str, family: str = "loss", severity: Severity = Severity.WARNING) -> RuleEntry:
    return RuleEntry(f"T{name}", name, family, "0.1", severity, Subject.RUN, "", "", lambda: ())


def found(name: str, family: str = "loss", **details: object) -> Found:
    return Found(rule(name, family), Finding(Where("train.log"), f"{name} seen", **details))


def examination(*findings: Found, clear: tuple[RuleEntry, ...] = ()) -> Examination:
    return Examination(findings, clear, ())


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):
    """Explain with a catalogue of the causes given."""

    def explained(causes: dict[str, Cause], seen: Examination) -> Explanation:
        entries = tuple(CauseEntry(name, cause, "", "") for name, cause in causes.items())
        monkeypatch.setattr("stethoscope.causes.catalogue", lambda: entries)
        return explain(seen)

    return explained


def cause(*evidence: Evidence, **details: object) -> Cause:
    return Cause("A cause", COMMON, evidence, "a test", **details)


def test_nothing_found_is_healthy_and_names_no_cause(only) -> None:
    explanation = only({"a": cause(Evidence("x", STRONG, ""))}, examination())
    assert explanation.causes == ()
    assert explanation.healthy > 0.8 > 0.1 > explanation.unknown


def test_code_outweighs_every_curve_together(only) -> None:
    curves = cause(*(Evidence(name, DECISIVE, "") for name in ("l", "v", "n")))
    code = cause(Evidence("c", DECISIVE, ""))
    seen = examination(
        found("l", "loss"), found("v", "validation"), found("n", "numerics"), found("c", "code")
    )
    explanation = only({"by-curves": curves, "by-code": code}, seen)
    assert [ranked.name for ranked in explanation.causes] == ["by-code", "by-curves"]


def test_symptoms_of_one_family_are_not_counted_twice(only) -> None:
    twice = only(
        {"a": cause(Evidence("x", STRONG, ""), Evidence("y", STRONG, ""))},
        examination(found("x"), found("y")),
    )
    once = only({"a": cause(Evidence("x", STRONG, ""))}, examination(found("x")))
    assert twice.causes[0].probability == once.causes[0].probability


def test_what_was_not_examined_is_no_evidence(only) -> None:
    against = Evidence("y", -MODERATE, "", outcome=Outcome.CLEAR)
    a = cause(Evidence("x", DECISIVE, ""), against)
    seen = found("x", "code")
    unexamined = only({"a": a}, examination(seen))
    cleared = only({"a": a}, examination(seen, clear=(rule("y", "code"),)))
    assert unexamined.causes[0].probability > 0.95 > cleared.causes[0].probability


def test_two_causes_may_both_be_near_certain(only) -> None:
    causes = {name: cause(Evidence(name, DECISIVE, "")) for name in ("a", "b")}
    explanation = only(causes, examination(found("a", "code"), found("b", "code")))
    assert all(ranked.probability > 0.9 for ranked in explanation.causes)
    assert all(ranked.standing is Standing.SUPPORTED for ranked in explanation.causes)


def test_a_proof_makes_a_cause_proved(only) -> None:
    explanation = only(
        {"a": cause(Evidence("x", DECISIVE, ""))}, examination(found("x", "code", proof="on (x, x) it is 1"))
    )
    assert explanation.causes[0].standing is Standing.PROVED


def test_evidence_against_contradicts_a_cause_and_ranks_it_last(only) -> None:
    blamed = cause(Evidence("x", MODERATE, ""), Evidence("inert", -DECISIVE, ""))
    real = cause(Evidence("x", MODERATE, ""))
    explanation = only({"blamed": blamed, "real": real}, examination(found("x"), found("inert")))
    assert [(c.name, c.standing) for c in explanation.causes] == [
        ("real", Standing.PLAUSIBLE),
        ("blamed", Standing.CONTRADICTED),
    ]


def test_a_consequence_stands_below_its_root(only) -> None:
    root = cause(Evidence("x", DECISIVE, ""), leads_to=("consequence",))
    consequence = cause(Evidence("y", DECISIVE, ""), Evidence("z", DECISIVE, ""))
    seen = examination(
        found("x", "code", onset=10), found("y", "code", onset=50), found("z", "settings", onset=60)
    )
    explanation = only({"root": root, "consequence": consequence}, seen)
    assert [(c.name, c.consequence_of) for c in explanation.causes] == [
        ("root", None),
        ("consequence", "root"),
    ]


def test_a_benign_explanation_takes_its_findings_away_from_the_causes(only) -> None:
    benign = cause(
        Evidence("rise", DECISIVE, "", when=lambda f: "d" in f.evidence), benign=True, explains=("rise",)
    )
    alarming = cause(Evidence("rise", DECISIVE, ""))
    causes = {"curriculum": benign, "divergence": alarming}
    excused = only(causes, examination(found("rise", "code", evidence={"d": 1})))
    assert [b.entry.name for b in excused.benign] == ["curriculum"]
    assert excused.causes == ()
    assert excused.symptoms == ()
    alarmed = only(causes, examination(found("rise", "code")))
    assert [c.name for c in alarmed.causes] == ["divergence"]
    assert alarmed.benign == ()


def test_a_symptom_no_cause_accounts_for_raises_unknown(only) -> None:
    explanation = only({}, examination(found("x", severity=Severity.CRITICAL)))
    assert explanation.unknown > 0.5 > explanation.healthy


def test_a_finding_that_is_certain_is_no_mere_shape(only) -> None:
    certain = found("zero", "amp", proof="a scale of zero makes every gradient NaN")
    proved = only({"a": cause(Evidence("zero", DECISIVE, ""))}, examination(certain))
    seen = only({"a": cause(Evidence("zero", DECISIVE, ""))}, examination(found("zero", "amp")))
    assert proved.causes[0].standing is Standing.PROVED
    assert proved.causes[0].probability > seen.causes[0].probability


def test_a_proof_of_a_lesser_argument_does_not_prove_the_cause(only) -> None:
    weighed = cause(Evidence("x", DECISIVE, ""), Evidence("y", MODERATE, ""))
    explanation = only(
        {"a": weighed}, examination(found("x", "code"), found("y", "code", proof="by algebra"))
    )
    assert explanation.causes[0].standing is Standing.SUPPORTED


def test_a_note_never_makes_a_cause_stand(only) -> None:
    note = found("x", "code", severity=Severity.NOTE)
    explanation = only({"a": cause(Evidence("x", DECISIVE, ""))}, examination(note))
    assert all(ranked.standing is Standing.PLAUSIBLE for ranked in explanation.causes)
    assert explanation.symptoms == ()


def test_what_the_source_accounts_for_speaks_less_for_the_others(only) -> None:
    seen = examination(found("runs-away"), found("in-code", "code"))
    by_curve = cause(Evidence("runs-away", STRONG, "it runs away"))
    by_code = cause(Evidence("in-code", DECISIVE, ""), shows=("runs-away",))
    first, second = only({"curve": by_curve, "code": by_code}, seen).causes
    assert (first.name, first.standing) == ("code", Standing.SUPPORTED)
    assert second.standing is not Standing.SUPPORTED
    assert second.probability < 0.2 < only({"curve": by_curve}, seen).causes[0].probability
    assert second.arguments_for[0].reason == "it runs away (accounted for by code)"


def test_what_the_source_accounts_for_is_not_unknown(only) -> None:
    seen = examination(found("runs-away"), found("in-code", "code"))
    silent = cause(Evidence("in-code", DECISIVE, ""))
    telling = cause(Evidence("in-code", DECISIVE, ""), shows=("runs-away",))
    assert only({"code": telling}, seen).unknown < 0.1 < only({"code": silent}, seen).unknown


def test_two_faults_of_the_source_stand_beside_each_other(only) -> None:
    seen = examination(found("runs-away"), found("one", "code"), found("two", "settings"))
    one = cause(Evidence("one", DECISIVE, ""), shows=("runs-away",))
    two = cause(Evidence("two", DECISIVE, ""), Evidence("runs-away", MODERATE, ""))
    assert all(ranked.probability > 0.9 for ranked in only({"one": one, "two": two}, seen).causes)


def test_a_temperature_makes_probabilities_modest_and_changes_no_verdict(
    only, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = examination(found("in-code", "code"), found("runs-away"))
    causes = {
        "code": cause(Evidence("in-code", DECISIVE, "")),
        "curve": cause(Evidence("runs-away", STRONG, "")),
    }
    before = only(causes, seen)
    monkeypatch.setattr("stethoscope.causes.weighing.TEMPERATURE", 2.0)
    after = only(causes, seen)
    assert [ranked.name for ranked in after.causes] == [ranked.name for ranked in before.causes]
    assert [ranked.standing for ranked in after.causes] == [ranked.standing for ranked in before.causes]
    assert 0.5 < after.causes[0].probability < before.causes[0].probability
