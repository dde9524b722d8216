"""Classes that are found through tables and lists which the program fills itself."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program.execution import Execution
from stethoscope.program.index import index
from stethoscope.program.settings_tree import settings_tree
from stethoscope.program.values import Instance, Items, Site
from tests.program.program_text import program_of

REGISTER = """
from torch import nn

MODELS = {}


def register(name):
    def decorator(cls):
        MODELS[name] = cls
        return cls

    return decorator


@register("plain")
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(2):
            self.layers.append(nn.Linear(4, 4))


model = MODELS["plain"]()
"""


def test_a_table_that_a_decorator_by_hand_fills_is_a_registry(tmp_path: Path) -> None:
    known = index(program_of(tmp_path, train=REGISTER))
    assert set(known.registries["MODELS"]) == {"plain"}


def test_an_empty_module_list_holds_what_is_appended(tmp_path: Path) -> None:
    known = index(program_of(tmp_path, train=REGISTER))
    run = Execution(known, settings_tree(None))
    module = known.modules["train"]
    model = run.global_name("model", module)
    assert isinstance(model, Instance)
    layers = run.attribute(model, "layers", Site(module.source, module.source.tree))
    assert isinstance(layers, Items)
    assert len(layers.items) == 2
