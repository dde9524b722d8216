"""A softmax too many is a fault of the metric where only the evaluation has it, else one of the loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.causes import explain
from stethoscope.causes.verdict import stands
from stethoscope.findings import examine
from stethoscope.read import read
from stethoscope.signals import measure

SCRIPT = """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


for epoch in range(3):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy({trained}, y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum(F.cross_entropy({measured}, y).item() for x, y in val_loader))
    model.train()
"""
LIGHTNING = """\
import lightning as L
import torch
import torch.nn.functional as F


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(8, 4)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.{trained}, y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self.{measured}, y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
"""
PLAIN, TWICE = "model(x)", "model(x).softmax(-1)"


@pytest.mark.parametrize(
    ("text", "trained", "measured", "cause"),
    [
        (SCRIPT, PLAIN, TWICE, "metric-wrong"),
        (SCRIPT, TWICE, PLAIN, "softmax-or-reduction-wrong"),
        (SCRIPT, PLAIN, PLAIN, None),
        (LIGHTNING, TWICE, PLAIN, "softmax-or-reduction-wrong"),
        (LIGHTNING, PLAIN, PLAIN, None),
    ],
)
def test_where_the_softmax_is_says_what_is_wrong(
    text: str, trained: str, measured: str, cause: str | None, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text.format(trained=trained, measured=measured))
    told = explain(examine(measure(read([tmp_path]))))
    both = {"metric-wrong", "softmax-or-reduction-wrong"}
    assert {one.name for one in told.causes if stands(one)} & both == ({cause} if cause else set())
