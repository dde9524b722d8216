"""`map` is followed: over known things call by call, over a loader as one unknown batch."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program.data.training_data import training_loaders
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.values import Constant
from tests.program.program_text import program_of

SCRIPT = """
import torch
from torch.utils.data import DataLoader, Dataset


class Beats(Dataset):
    def __init__(self, part):
        self.part = part

    def __getitem__(self, i):
        return torch.load(f"{self.part}/{i}.pt")


def batches_of(part):
    return DataLoader(Beats(part), batch_size=4, shuffle=part == "fit")


def on_device(batch):
    return batch.to("cuda")


fitting, checking = map(batches_of, ("fit", "check"))
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for batch in map(on_device, fitting):
        optimizer.zero_grad()
        net(batch).mean().backward()
        optimizer.step()
"""


def test_a_loader_made_and_drawn_from_by_map_is_known(tmp_path: Path) -> None:
    (loader,) = training_loaders(index(program_of(tmp_path, train=SCRIPT)), SettingsTree())
    shuffle = loader.options["shuffle"]
    assert isinstance(shuffle, Constant)
    assert shuffle.value is True
