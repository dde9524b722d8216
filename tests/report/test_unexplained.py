"""What no cause accounts for."""

from __future__ import annotations

from pathlib import Path

from stethoscope.diagnose import diagnose
from stethoscope.report.unexplained import unexplained


def test_every_finding_of_a_cause_that_stands_is_explained(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("train:\n  lr: 1e-4\n  weight_decay: 5e-5\n")
    diagnosis = diagnose(tmp_path)
    assert len(diagnosis.examination.of("number-is-a-string")) == 2
    assert unexplained(diagnosis.explanation) == ()
