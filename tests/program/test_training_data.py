"""The loaders that training draws from are told from all others, with what is known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.data.data_order import is_map_style, is_off, mixes_by_itself
from stethoscope.program.data.training_data import TrainingLoader, training_loaders
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import SettingsTree
from tests.program.program_text import program_of

HEAD = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Mixed(Rows):
    def __init__(self, rows):
        super().__init__(rows)
        self.order = torch.randperm(len(rows))


class Stream(IterableDataset):
    def __iter__(self):
        yield 1


net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
held_out = DataLoader(Rows(other()))
"""
LOOP = """
for epoch in range(3):
    for x, y in {over}:
        opt.zero_grad()
        (net(x) - y).abs().mean().backward()
        opt.step()
    with torch.no_grad():
        for x, y in held_out:
            net(x)
"""


def loaders_of(folder: Path, text: str) -> tuple[TrainingLoader, ...]:
    return training_loaders(index(program_of(folder, train=HEAD + text)), SettingsTree())


@pytest.mark.parametrize(
    "over", ["loader", "tqdm(loader)", "zip(loader, loader)", "(b for b in [loader][0])"]
)
def test_the_loader_of_the_loop_is_found_and_the_held_out_one_is_not(tmp_path: Path, over: str) -> None:
    text = "from tqdm import tqdm\nloader = DataLoader(Rows(load()), 8, shuffle=True)\n" + LOOP.format(
        over=over
    )
    (loader,) = loaders_of(tmp_path, text)
    assert not is_off(loader.options.get("shuffle"))
    assert is_off(loader.options.get("sampler"))
    assert loader.options_known
    assert is_map_style(loader.run.index, loader.dataset)


def test_options_from_elsewhere_are_not_known(tmp_path: Path) -> None:
    (loader,) = loaders_of(
        tmp_path, "loader = DataLoader(Rows(load()), **options)" + LOOP.format(over="loader")
    )
    assert not loader.options_known


@pytest.mark.parametrize(
    ("dataset", "map_style", "mixes"),
    [
        ("Rows(load())", True, False),
        ("Mixed(load())", True, True),
        ("Stream()", False, False),
        ("given", False, False),
    ],
)
def test_data_sets_are_told_by_who_decides_their_order(
    tmp_path: Path, dataset: str, map_style: bool, mixes: bool
) -> None:
    (loader,) = loaders_of(tmp_path, f"loader = DataLoader({dataset})" + LOOP.format(over="loader"))
    assert is_map_style(loader.run.index, loader.dataset) is map_style
    assert mixes_by_itself(loader.run.index, loader.dataset) is mixes


def test_a_hook_of_a_framework_gives_its_loader(tmp_path: Path) -> None:
    hook = (
        "class Data:\n    def train_dataloader(self):\n        return DataLoader(Rows([1]), shuffle=True)\n"
    )
    (loader,) = loaders_of(tmp_path, hook)
    assert loader.loop is None


@pytest.mark.parametrize("text", ["loader = DataLoader()", "loader = DataLoader(*a, *b)", "loader = loader"])
def test_hostile_loaders_are_survived(tmp_path: Path, text: str) -> None:
    assert len(loaders_of(tmp_path, text + LOOP.format(over="loader"))) <= 1
