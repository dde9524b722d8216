"""How a proposal is judged, reason by reason, each with a twin for which the reason does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope import diagnose
from stethoscope.clinic.recorded import RECORDS
from stethoscope.review import Claim, Review, Ruling, read_document, recorded_in, review
from stethoscope.review.series_claims import agrees, half_digit
from tests.conftest import ROOT
from tests.review import runs


def of(text: str, run: Path | None = None) -> Review:
    return review([read_document(text, "notes.md")], diagnose(run) if run else None)


def only(text: str, run: Path | None = None) -> Claim:
    (claim,) = of(text, run).claims
    return claim


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.plain(tmp_path_factory.mktemp("judging") / "well")


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.plain(tmp_path_factory.mktemp("judging") / "ill", runs.diverging)


def test_a_value_that_is_set_has_no_effect(healthy: Path) -> None:
    claim = only("Set `max_grad_norm` to 1.0.", healthy)
    assert claim.ruling is Ruling.NO_EFFECT
    assert claim.judgement.why == "already set: max_grad_norm is 1"
    assert claim.judgement.evidence[0].where[0].line == 6


def test_a_cause_that_stands_supports_what_acts_on_it(sick: Path, healthy: Path) -> None:
    assert only("Reduce the learning rate by 10x.", sick).ruling is Ruling.SUPPORTED
    assert only("Reduce the learning rate by 10x.", healthy).ruling is Ruling.UNTESTED
    assert only("Raise the learning rate to 0.1.", sick).ruling is not Ruling.SUPPORTED


def test_a_warm_up_longer_than_the_run_is_harmful(healthy: Path) -> None:
    claim = only("```yaml\nwarmup_steps: 5000\n```", healthy)
    assert claim.ruling is Ruling.HARMFUL
    assert "warm-up never ends" in claim.judgement.why
    assert only("```yaml\nwarmup_steps: 50\n```", healthy).ruling is Ruling.UNTESTED


def test_what_the_source_never_reads_cannot_act(tmp_path: Path) -> None:
    run = runs.toml(tmp_path / "run")
    assert only("```toml\n[optim]\nwarmup = 300\n```", run).ruling is Ruling.NO_EFFECT
    assert only("```toml\n[optim]\nlr = 1e-3\n```", run).ruling is Ruling.UNTESTED


def test_a_trial_of_this_run_decides(tmp_path: Path) -> None:
    run = runs.plain(tmp_path / "run", runs.diverging)
    change = {"name": "warmup_steps=200", "title": "t", "classes": ["harmful"], "why": "it takes away 0.3"}
    edits = [{"kind": "newvalue", "key": "warmup_steps", "value": "200"}]
    told = {
        "schema": 1,
        "kind": "trial",
        "name": "run",
        "metric": {"name": "loss"},
        "seeds": [1, 2, 3],
        "complete": True,
        "changes": [{**change, "edits": edits, "causes": []}],
    }
    (run / "trial.json").write_text(json.dumps(told), encoding="utf-8")
    claim = only("Set `warmup_steps` to 200.", run)
    assert claim.ruling is Ruling.HARMFUL
    assert claim.judgement.evidence[0].source == "trial"
    assert only("Set `warmup_steps` to 150.", run).ruling is Ruling.UNTESTED


def test_less_noise_for_a_masked_diffusion_is_harmful(tmp_path: Path) -> None:
    run = runs.plain(tmp_path / "run")
    (run / "train.py").unlink()
    (run / "config.yml").write_text(
        runs.SETTINGS + "graph:\n  type: absorb\ntokens: 36\nnoise:\n  type: cosine\n  sigma_min: 0.0001\n"
        "  sigma_max: 0.8\n",
        encoding="utf-8",
    )
    claim = only("Lower `noise.sigma_max` to 0.5.", run)
    assert claim.ruling is Ruling.HARMFUL
    assert "at most 39% of the tokens instead of 55%" in claim.judgement.why
    assert only("Raise `noise.sigma_max` to 0.9.", run).ruling is Ruling.CHANGES_YARDSTICK


def test_what_validation_measures_is_the_yardstick(tmp_path: Path) -> None:
    run = runs.plain(tmp_path / "run")
    (run / "config.yml").write_text(runs.SETTINGS + "val:\n  crop_border: 4\n  freq: 100\n", encoding="utf-8")
    assert only("```yaml\nval:\n  crop_border: 0\n```", run).ruling is Ruling.CHANGES_YARDSTICK
    assert only("```yaml\nval:\n  freq: 50\n```", run).ruling is not Ruling.CHANGES_YARDSTICK


def test_gentler_clipping_with_a_smaller_norm_is_refuted(healthy: Path) -> None:
    assert only("Gentler clipping: 1.0 -> 0.5 `max_grad_norm`", healthy).ruling is Ruling.REFUTED
    assert only("Clipping: 1.0 -> 0.5 `max_grad_norm`", healthy).ruling is Ruling.UNTESTED


def test_a_value_in_use_that_the_document_has_wrong_is_told(healthy: Path) -> None:
    claim = only("Reduce `lr` from 0.1 to 0.001.", healthy)
    told = "the document has 0.1 as the value in use; lr is 0.003"
    assert told in [fact.what for fact in claim.judgement.evidence]


def test_the_trial_that_would_settle_it_is_a_command(healthy: Path) -> None:
    claim = only("Set `lr` to 0.001.", healthy)
    assert claim.settle_by == (
        f"stethoscope trial --project {healthy} --config {healthy}/config.yml --edit lr=0.001"
        " --metric val/loss -- python train.py --config {config}"
    )


def test_words_that_name_no_setting_are_prose(healthy: Path) -> None:
    found = of("Increase the patience to 5 and the enthusiasm to 11.", healthy)
    assert found.claims == ()
    assert len(found.unparsed) == 1


def test_one_word_of_a_name_is_not_enough(tmp_path: Path) -> None:
    run = runs.plain(tmp_path / "run")
    (run / "train.py").unlink()
    (run / "config.yml").write_text(runs.SETTINGS + "reward_scaling: 50.0\n", encoding="utf-8")
    assert of("One kill: 2.0 -> 1.0 reward", run).claims == ()
    assert only("More scaling: 50 -> 100 reward", run).change.key == "reward_scaling"


def test_a_checkpoint_that_was_never_saved() -> None:
    run = ROOT / "examples" / "nano-sr"
    found = of("Resume from the checkpoint at step 400.\n\nOr resume from the checkpoint at step 2500.", run)
    first, second = found.claims
    assert first.ruling is Ruling.REFUTED
    assert "saved are 2,500, 5,000" in first.judgement.why
    assert second.ruling is Ruling.UNTESTED


def test_trials_of_other_trainings_are_evidence_from_elsewhere() -> None:
    reading = read_document("Set `warmup_iter` to 1000.", "notes.md")
    run = diagnose(ROOT / "examples" / "nano-sr")
    (claim,) = review([reading], run, recorded_in(RECORDS)).claims
    assert claim.ruling is Ruling.UNTESTED
    elsewhere = [fact for fact in claim.judgement.evidence if fact.source == "elsewhere"]
    assert "warm-up-fourfold" in elsewhere[0].what


def test_documents_that_contradict_each_other(healthy: Path) -> None:
    readings = [read_document(f"Set `lr` to {value}.", f"{name}.md") for name, value in (("a", 1), ("b", 2))]
    (found,) = review(readings, diagnose(healthy)).contradictions
    assert found.key == "lr"
    assert [(document, value) for document, value, _ in found.sides] == [("a.md", "1"), ("b.md", "2")]
    agreeing = [read_document("Set `lr` to 1.", f"{name}.md") for name in "ab"]
    assert review(agreeing, diagnose(healthy)).contradictions == ()


def test_digits_say_how_exact_a_figure_is() -> None:
    assert half_digit("26.25") == pytest.approx(0.005)
    assert half_digit("12k") == pytest.approx(500)
    assert agrees("26.2", 26.2, 26.24)
    assert not agrees("0.2", 0.2, 0.3)
