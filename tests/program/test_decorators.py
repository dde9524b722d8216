"""A decorator of the repository stands in the place of what it decorates."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.trace import traces
from tests.program.program_text import program_of

FUNCTION = """
import torch

def quiet(function):
    def inner(model, *rest):
        model.eval()
        return function(model, *rest)
    return inner

def quietly(restore=True):
    return quiet

class Quiet:
    def __init__(self, function):
        self.function = function

    def __call__(self, model, *rest):
        model.eval()
        return self.function(model, *rest)

{decorator}
def validate(model, x):
    return model.predict(x)

def fit(model, loader, optimizer):
    for x in loader:
        validate(model, x)
        model(x).mean().backward()
        optimizer.step()
"""

METHOD = """
def quiet(method):
    def inner(self, *rest):
        self.model.eval()
        return method(self, *rest)
    return inner

class Trainer:
    def __init__(self, model):
        self.model = model

    @quiet
    def validate(self, x):
        return self.model.predict(x)

    def fit(self, loader, optimizer):
        for x in loader:
            self.validate(x)
            self.model(x).mean().backward()
            optimizer.step()
"""


def _named(folder: Path, text: str, *names: str) -> list[str]:
    program = program_of(folder, train=text)
    found = traces(index(program), settings_tree(None))
    calls = [event.name for trace in found for event in trace.events if isinstance(event, Call)]
    return [name for name in calls if name in names]


@pytest.mark.parametrize("decorator", ["@quiet", "@quietly(restore=False)", "@Quiet"])
def test_a_wrapper_runs_where_its_function_is_called(tmp_path: Path, decorator: str) -> None:
    text = FUNCTION.replace("{decorator}", decorator)
    assert _named(tmp_path, text, "eval", "predict", "backward") == ["eval", "predict", "backward"]


def test_a_decorator_from_outside_leaves_its_function_as_it_is(tmp_path: Path) -> None:
    text = FUNCTION.replace("{decorator}", "@torch.no_grad()")
    assert _named(tmp_path, text, "eval", "predict", "backward") == ["predict", "backward"]


def test_a_wrapper_of_a_method_gets_the_object(tmp_path: Path) -> None:
    assert _named(tmp_path, METHOD, "eval", "predict", "backward") == ["eval", "predict", "backward"]


REGISTERED = """
class Signals:
    def __init__(self):
        self.heard = {}

    def when(self, name):
        def keep(listener):
            self.heard.setdefault(name, []).append(listener)
            return listener

        return keep

    def send(self, name):
        for listener in self.heard[name]:
            listener()


def main(model, optimizer, loader):
    signals = Signals()

    @signals.when("end")
    def check():
        model.eval()

    for batch in loader:
        model(batch).backward()
        optimizer.step()
    signals.send("end")


main(None, None, None)
"""


def test_a_function_that_a_method_registers_is_followed_where_it_is_called(tmp_path: Path) -> None:
    assert _named(tmp_path, REGISTERED, "backward", "send", "eval") == ["backward", "send", "eval"]
