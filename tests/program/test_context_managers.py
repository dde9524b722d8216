"""What a context manager of the repository does is met around its body, and a copy is another object."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.trace import traces
from tests.program.program_text import program_of


def _calls(folder: Path, text: str) -> list[Call]:
    program = program_of(folder, train=text)
    found = traces(index(program), settings_tree(None))
    return [event for trace in found for event in trace.events if isinstance(event, Call)]


GENERATOR = """
from contextlib import contextmanager

@contextmanager
def evaluating(model):
    model.eval()
    yield
    model.train()

def fit(model, loader, optimizer):
    for x in loader:
        with evaluating(model):
            model(x)
        model(x).mean().backward()
        optimizer.step()
"""

CLASS = """
class Evaluating:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.model.eval()

    def __exit__(self, *args):
        self.model.train()

def fit(model, loader, optimizer):
    for x in loader:
        with Evaluating(model):
            model(x)
        model(x).mean().backward()
        optimizer.step()
"""


def test_what_follows_a_yield_happens_after_the_body(tmp_path: Path) -> None:
    names = [call.name for call in _calls(tmp_path, GENERATOR) if call.name in {"eval", "train", "model"}]
    assert names == ["eval", "model", "train", "model"]


def test_an_object_is_entered_and_left(tmp_path: Path) -> None:
    names = [call.name for call in _calls(tmp_path, CLASS) if call.name in {"eval", "train", "model"}]
    assert names == ["eval", "model", "train", "model"]


HELD_OPEN = """
import torch
from contextlib import contextmanager

@contextmanager
def silent():
    with torch.inference_mode():
        yield

class Silent:
    def __enter__(self):
        self.switch = torch.no_grad()
        self.switch.__enter__()

    def __exit__(self, *args):
        self.switch.__exit__(*args)

def fit(model, loader, optimizer):
    for x in loader:
        with {manager}:
            model(x)
        model(x).mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("manager", ["silent()", "Silent()"])
def test_the_body_is_inside_what_the_manager_holds_open(tmp_path: Path, manager: str) -> None:
    calls = _calls(tmp_path, HELD_OPEN.replace("{manager}", manager))
    assert [without_gradients(call) for call in calls if call.name == "model"] == [True, False]


def test_a_copy_is_another_object(tmp_path: Path) -> None:
    text = """
import copy
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

def fit(loader, optimizer):
    model = Net()
    average = copy.deepcopy(model)
    average.eval()
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
"""
    calls = _calls(tmp_path, text)
    evaluated = next(call.receiver for call in calls if call.name == "eval")
    trained = next(call.callee for call in calls if call.name == "model")
    assert evaluated is not trained


def test_functions_of_a_script_see_its_own_objects(tmp_path: Path) -> None:
    text = """
import torch
from torch import nn

net = nn.Linear(1, 1)
optimizer = torch.optim.SGD(net.parameters())

def check():
    net.eval()

for x in loader:
    net(x).mean().backward()
    optimizer.step()
    check()
"""
    calls = _calls(tmp_path, text)
    evaluated = next(call.receiver for call in calls if call.name == "eval")
    assert evaluated is next(call.callee for call in calls if call.name == "net")
