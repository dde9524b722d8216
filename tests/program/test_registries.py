"""Classes that are found through tables, lists and settings which name them."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program.index import index
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.program.walk.calls import call_value
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    ClassValue,
    Constant,
    Instance,
    Items,
    Leaf,
    Outside,
    Settings,
    Site,
    Table,
)
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


HANDED_ON = """
import torch


class Registry:
    def __init__(self):
        self._kept = {}

    def register(self):
        def keep(cls):
            self._kept[cls.__name__] = cls
            return cls

        return keep

    def get(self, name):
        return self._kept[name]


LOSSES = Registry()
NETWORKS = Registry()


def build(registry, options):
    return registry.get(options.pop("type"))(**options)


def fetch(registry, name):
    return registry[name]


@LOSSES.register()
class Near:
    pass


@NETWORKS.register()
class Deep:
    pass
"""
USER = """
from parts import LOSSES, NETWORKS, build, fetch

loss = build(LOSSES, {"type": "Near"})
network = build(NETWORKS, {"type": "Deep"})
kind = fetch(NETWORKS, "Deep")
"""


def test_a_registry_is_known_behind_the_name_of_a_parameter(tmp_path: Path) -> None:
    names = index(program_of(tmp_path, parts=HANDED_ON, user=USER))
    run = Execution(names, SettingsTree(), tracing=True)
    run.enter_module(names.modules["user"])
    made = {
        name: run.force(run.global_name(name, names.modules["user"])) for name in ("loss", "network", "kind")
    }
    assert isinstance(made["loss"], Instance)
    assert made["loss"].cls.name == "Near"
    assert isinstance(made["network"], Instance)
    assert made["network"].cls.name == "Deep"
    assert isinstance(made["kind"], ClassValue)
    assert made["kind"].cls.name == "Deep"


def test_a_class_of_unknown_name_in_a_known_module_keeps_its_part(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef make(net, kind):\n    return getattr(torch.optim, kind)(net.parameters())\n"
    names = index(program_of(tmp_path, a=text))
    run = Execution(names, SettingsTree(), tracing=True)
    assert role_of(run, run.force(run.enter(names.functions_named("make")[0]))) is Role.OPTIMIZER


def test_a_batch_that_is_moved_entry_by_entry_is_the_batch(tmp_path: Path) -> None:
    moved = "{k: v.to(device) if v is not None else v for k, v in batch.items()}"
    changed = "{k: v * 2 for k, v in batch.items()}"
    text = f"def one(batch, device):\n    return {moved}\n\n\ndef two(batch):\n    return {changed}\n"
    names = index(program_of(tmp_path, a=text))
    run = Execution(names, SettingsTree(), tracing=True)
    same, other = (run.force(run.enter(names.functions_named(name)[0])) for name in ("one", "two"))
    assert isinstance(same, Leaf)
    assert same.name == "batch"
    assert isinstance(other, Table)
    assert len(other.rest) == 1
