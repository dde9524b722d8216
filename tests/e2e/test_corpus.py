"""Real runs from public repositories: healthy ones are called healthy, and nothing fails."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from stethoscope.diagnose import diagnose
from stethoscope.errors import NothingToRead

pytestmark = pytest.mark.corpus

HEALTHY_SHARE = 0.95


def test_healthy_runs_are_called_healthy_and_none_is_called_sick(corpus: Path) -> None:
    verdicts = {run: _verdict(corpus / run) for run in _runs(corpus, "healthy")}
    read = {run: verdict for run, verdict in verdicts.items() if verdict != "not read"}
    counts = Counter(read.values())
    assert counts["sick"] == 0, _those(read, "sick")
    assert counts["healthy"] >= HEALTHY_SHARE * len(read), {r: v for r, v in read.items() if v != "healthy"}
    assert len(read) >= 20


def test_no_rule_fails_on_any_real_run(corpus: Path) -> None:
    failed = {}
    for folder in sorted({path.parent for path in corpus.rglob("*") if path.is_file()} - {corpus}):
        try:
            missed = diagnose(folder).examination.not_examined
        except NothingToRead:
            continue
        reasons = [m.missing.why for m in missed if "the rule itself failed" in m.missing.why]
        if reasons:
            failed[folder.name] = reasons
    assert failed == {}


def _runs(corpus: Path, label: str) -> list[str]:
    """The run directories of the logs with this label."""
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        rows = list(csv.DictReader(manifest, delimiter="\t"))
    return sorted({str(Path(row["path"]).parent) for row in rows if row["label"] == label})


def _verdict(run: Path) -> str:
    try:
        diagnosis = diagnose(run)
    except NothingToRead:
        return "not read"
    return str(diagnosis.verdict) if diagnosis.run.series else "not read"


def _those(verdicts: dict[str, str], wanted: str) -> list[str]:
    return [run for run, verdict in verdicts.items() if verdict == wanted]
