"""Classes that are found through tables, lists and settings which name them."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program.calls import call_value
from stethoscope.program.execution import Execution
from stethoscope.program.index import index
from stethoscope.program.settings_tree import SettingsTree, settings_tree
from stethoscope.program.values import Constant, Instance, Items, Outside, Settings, Site
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


INSTANTIATE = """
from hydra.utils import instantiate


def main(cfg):
    return instantiate(cfg.model)
"""
ARCH = """
from torch import nn


class Act(nn.Module):
    pass


class Net(nn.Module):
    def __init__(self, width, act):
        super().__init__()
        self.width = width
        self.act = act
"""


def test_settings_that_name_a_class_make_its_object(tmp_path: Path) -> None:
    known = index(program_of(tmp_path, train=INSTANTIATE, arch=ARCH))
    entries = {"_target_": "arch.Net", "width": 8, "act": {"_target_": "arch.Act"}}
    run = Execution(known, SettingsTree())
    site = Site(known.modules["train"].source, known.modules["train"].source.tree)
    made = call_value(run, Outside("hydra.utils.instantiate"), [Settings(("model",), entries)], {}, site)
    assert isinstance(made, Instance)
    assert made.cls.name == "Net"
    assert isinstance(made.made_with["width"], Constant)
    assert isinstance(made.made_with["act"], Instance)
