"""Real runs from public repositories are read without a stumble, and their settings raise no alarm."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead
from stethoscope.findings import Severity, apply, rule_named
from stethoscope.read import read
from stethoscope.run import Run
from stethoscope.signals import Missing, measure
from stethoscope.signals.ending import Ending

pytestmark = pytest.mark.corpus


def runs(corpus: Path) -> list[Run]:
    found = []
    for folder in sorted(path for path in corpus.glob("*/*") if path.is_dir()):
        with contextlib.suppress(NothingToRead):
            found.append(read(folder))
    return found


def test_every_run_is_read_or_refused_with_a_reason(corpus: Path) -> None:
    found = runs(corpus)
    assert len(found) > 30
    for run in found:
        assert isinstance(measure(run).get(Ending), Ending)
        assert all(one.reason for one in run.unread)


def test_settings_that_runs_trained_with_raise_no_alarm(corpus: Path) -> None:
    for run in runs(corpus):
        if not run.series:
            continue
        for code in ("SET101", "SET102", "SET103", "CKP101"):
            outcome = apply(rule_named(code), measure(run))
            if not isinstance(outcome, Missing):
                assert all(finding.severity is Severity.NOTE for finding in outcome), (run.path, outcome)
            else:
                assert "rule itself failed" not in outcome.why


def test_the_dumped_settings_of_a_log_are_read_with_their_lines(corpus: Path) -> None:
    run = read(corpus / "trainner_redux" / "delafer__traiNNer-redux__paragonsr2_realtime_20251217")
    assert run.recipe is not None
    setting = run.recipe.get("train.optim_g.lr")
    assert setting is not None
    lines = Path(setting.where.file).read_text(encoding="utf-8").splitlines()
    assert "lr: !!float 2e-4" in lines[(setting.where.line or 1) - 1]


def test_the_first_systems_own_settings_hold_a_number_that_is_text(corpus: Path) -> None:
    signals = measure(read(corpus / "trainner_redux" / "delafer__traiNNer-redux__seed000_nano_configs"))
    strings = apply(rule_named("SET102"), signals)
    assert not isinstance(strings, Missing)
    assert {finding.evidence["key"] for finding in strings} == {"train.dynamic_loss_scheduling.min_weight"}
    assert apply(rule_named("SET101"), signals) == (), "keys of the fork are no mistakes"
