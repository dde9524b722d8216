"""What frameworks were told about precision, and what they call."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.framework_precision import called_by_framework, framework_precision
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.program.settings.stated_options import stated_option
from stethoscope.program.walk.execution import Execution
from tests.program.program_text import program_of

NETWORK = """
from torch import nn


class Inner(nn.Module):
    def forward(self, x):
        return x


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


def build():
    return Outer()

"""


PARSER = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--kind", default="bf16")
"""


def settings_of(**values: object) -> SettingsTree:
    tree = settings_tree(None)
    made = SettingsTree(dict(tree.nodes), dict(tree.by_last))
    for name, value in values.items():
        made.nodes[(name,)] = value
        made.by_last[name] = [(name,)]
    return made


@pytest.mark.parametrize(
    ("written", "dtype", "known"),
    [
        ('Trainer(precision="16-mixed")', DType.FLOAT16, True),
        ('TrainingArguments("out", bf16=True)', DType.BFLOAT16, True),
        ("TrainingArguments('out', fp16=unknown.flag)", DType.FLOAT16, False),
        ('wrapper = dict(type="AmpOptimWrapper", optimizer=dict(type="SGD"))', DType.FLOAT16, True),
        ('wrapper = {"type": "AmpOptimWrapper", "dtype": "bfloat16"}', DType.BFLOAT16, True),
        ("Trainer(precision=parser.parse_args().kind)", DType.BFLOAT16, True),
    ],
)
def test_what_a_call_says(written: str, dtype: DType, known: bool, tmp_path: Path) -> None:
    text = PARSER + written + "\n"
    program = index(program_of(tmp_path, train=text))
    settings = settings_tree(None)
    found = framework_precision(program, settings, Execution(program, settings, 0))
    assert found is not None
    assert found.region.dtypes == {dtype}
    assert found.region.known is known


def test_what_the_settings_say(tmp_path: Path) -> None:
    program = index(program_of(tmp_path, train="import deepspeed\nTrainer(**given)\n"))
    for settings, dtype, weights in (
        (settings_of(precision="16-mixed"), DType.FLOAT16, None),
        (settings_of(precision="bf16-true"), DType.BFLOAT16, DType.BFLOAT16),
        (settings_of(fp16={"enabled": True}), DType.FLOAT16, DType.FLOAT16),
    ):
        found = framework_precision(program, settings, Execution(program, settings, 0))
        assert found is not None
        assert (found.region.dtypes, found.weights) == (frozenset({dtype}), weights)
    full = settings_of(precision="32-true")
    assert framework_precision(program, full, Execution(program, full, 0)) is None


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("model = build()\nTrainer(model=model).train()", "Outer"),
        ("Runner(model=Outer())", "Outer"),
        ("fit(anything)", "Outer"),  # no other class mentions it
    ],
)
def test_the_networks_that_a_framework_gets(written: str, called: str, tmp_path: Path) -> None:
    program = index(program_of(tmp_path, train=NETWORK + written + "\n"))
    run = Execution(program, settings_tree(None), 0)
    found = list(called_by_framework(program, run))
    assert [one.function.owner.name for one in found if one.function.owner] == [called]


def test_an_option_stands_at_its_setting_or_its_default(tmp_path: Path) -> None:
    text = """
from dataclasses import dataclass


@dataclass
class TrainConfig:
    kind: str = "bf16"
    amp: bool = False
"""
    program = index(program_of(tmp_path, train=text))
    by_default = stated_option(program, settings_tree(None), "kind")
    assert by_default is not None
    assert by_default.value == "bf16"
    by_setting = stated_option(program, settings_of(kind="fp16"), "kind")
    assert by_setting is not None
    assert by_setting.value == "fp16"
    assert stated_option(program, settings_tree(None), "amp") is None  # a switch may be switched on
    assert stated_option(program, settings_tree(None), "other") is None
