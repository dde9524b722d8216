"""Tests of program/data/batches.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.data.batches import batch_parts, drawn
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Constant
from tests.program.program_text import program_of

DRAWING = """
import itertools

from torch.utils.data import DataLoader


class Words:
    def __getitem__(self, index):
        return "text", "label"


def train(model):
    loader = DataLoader(Words())
    {drawing}
    return label
"""


@pytest.mark.parametrize(
    "drawing",
    [
        "text, label = next(iter(loader))",
        "stream = itertools.cycle(loader); text, label = next(stream)",
        "label = next(iter(loader))[1]",
        "for text, label in itertools.islice(loader, 100): pass",
        "for step, (text, label) in enumerate(loader): pass",
    ],
)
def test_a_part_of_a_batch_is_what_the_data_set_puts_there(tmp_path: Path, drawing: str) -> None:
    names = index(program_of(tmp_path, a=DRAWING.replace("{drawing}", drawing)))
    run = Execution(names, SettingsTree())
    label = run.enter(names.functions_named("train")[0])
    found = [value for part in batch_parts(run, label) for value in drawn(run, part)]
    assert [value.value for value in found if isinstance(value, Constant)] == ["label"]
