"""Real runs: the curve rules are silent on the healthy ones and speak up on the sick ones."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead
from stethoscope.findings import apply, catalogue
from stethoscope.findings.finding import Severity
from stethoscope.read import read
from stethoscope.signals import Missing, measure

pytestmark = pytest.mark.corpus

FAMILIES = ("numerics", "amp", "loss", "validation", "schedule")
# Runs whose fault shows in their curves, and the rule that must see it.
SICK = {
    "nanochat/karpathy__nanochat__sft_nan": "NUM101",
    "hf_trainer/hiyouga__LLaMA-Factory__llamafactory_news_overfit": "VAL102",
    "hf_trainer/aigoncharov__trainer_state_viz__trainer_state_viz_groups": "VAL102",
    "jax_or_misc/karpathy__nanoGPT__nanogpt_history_csv_baseline": "VAL102",
    "jax_or_misc/karpathy__nanoGPT__nanogpt_history_csv_no_residuals": "LOS103",
    "nanogpt/karpathy__nanoGPT__lozo_plateau": "LOS103",
}


def test_healthy_runs_give_no_warning(corpus: Path) -> None:
    said = {str(folder): alarms for folder in healthy(corpus) if (alarms := spoken(folder))}
    assert said == {}


@pytest.mark.parametrize(("folder", "code"), SICK.items())
def test_sick_runs_are_found(corpus: Path, folder: str, code: str) -> None:
    assert code in spoken(corpus / folder)


def healthy(corpus: Path) -> Iterator[Path]:
    """The folders of the runs that someone read as healthy."""
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["role"] == "log"]
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault("/".join(row["path"].split("/")[:2]), set()).add(row["label"])
    yield from (corpus / folder for folder, told in sorted(labels.items()) if told == {"healthy"})


def spoken(folder: Path) -> set[str]:
    """The codes of the curve rules that give a warning or worse; none for a format not read."""
    try:
        signals = measure(read(folder))
    except NothingToRead:
        return set()
    found = set()
    for rule in catalogue():
        if rule.family not in FAMILIES:
            continue
        outcome = apply(rule, signals)
        if isinstance(outcome, Missing):
            assert "the rule itself failed" not in outcome.why
        elif any((finding.severity or rule.severity) is not Severity.NOTE for finding in outcome):
            found.add(rule.code)
    return found
