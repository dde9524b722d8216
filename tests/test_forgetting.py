"""A process that judges thousands of runs does not keep the programs of all of them."""

import gc
import weakref

from stethoscope import forgetting
from stethoscope.diagnose import diagnose

SOURCE = """import torch
from torch import nn

model = nn.Linear(4, {width})
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(100):
    loss = model(torch.rand(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {{step}} loss {{loss.item():.4f}}")
"""
LOG = "".join(f"step {step} loss {1 / (step + 1):.4f}\n" for step in range(100))


def test_programs_of_earlier_diagnoses_are_let_go(tmp_path):
    trees = [_diagnosed(tmp_path / str(width), width) for width in range(2 * forgetting.EVERY)]
    gc.collect()
    alive = sum(tree() is not None for tree in trees)
    assert alive <= forgetting.EVERY + 8


def _diagnosed(folder, width):
    folder.mkdir()
    (folder / "train.py").write_text(SOURCE.format(width=width))
    (folder / "train.log").write_text(LOG)
    diagnosis = diagnose(folder)
    (source,) = diagnosis.run.program.sources
    return weakref.ref(source.tree)
