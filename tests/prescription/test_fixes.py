"""What a diagnosis prescribes where only a finding knows how to mend."""

from __future__ import annotations

from pathlib import Path

from stethoscope.diagnose import diagnose
from stethoscope.prescription import Level

TRAIN = """
import torch
from torch import nn


def main(loader):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""


def test_the_fix_of_a_finding_is_shown_as_an_edit(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    rows = "".join(f"{step},{2 + step / 50}\n" for step in range(60))
    (tmp_path / "log.csv").write_text(f"step,loss\n{rows}")

    (edit,) = diagnose(tmp_path).prescription.edits

    assert edit.remedy == "clear-the-gradients-after-the-step"
    assert edit.cures == ("gradients-not-cleared",)
    assert edit.level is Level.DISPLAY
    assert "+        optimizer.zero_grad()" in edit.diff


def test_what_a_remedy_changes_is_not_prescribed_twice() -> None:
    edits = diagnose(Path("examples/nano-sr")).prescription.edits

    assert len({edit.diff for edit in edits}) == len(edits)


def test_a_record_of_settings_is_shown_with_the_fix_and_called_a_record() -> None:
    diagnosis = diagnose(Path("examples/protein-sedd"))
    warm_up = next(edit for edit in diagnosis.prescription.edits if "warmup" in edit.diff)
    assert warm_up.kind == "config"
    assert not warm_up.maintained
