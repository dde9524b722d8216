"""Hooks of frameworks are followed with the very object that the program makes."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program.index import Class, index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.framework_instances import hook_arguments, made_for_hooks
from stethoscope.program.walk.values import Constant, Instance, Leaf, Part, Value
from stethoscope.run import Program, Recipe, Setting, Where
from tests.program.program_text import program_of


def made(program: Program, name: str, recipe: Recipe | None = None) -> tuple[Execution, Instance]:
    known = index(program)
    run = Execution(known, settings_tree(recipe), tracing=True)
    (cls,) = (one for one in known.classes if one.name == name)
    assert isinstance(cls, Class)
    instance = made_for_hooks(run, cls)
    run.initialise(instance)
    return run, instance


def settings(**values: object) -> Recipe:
    return Recipe(
        tuple(
            Setting(tuple(key.split("__")), value, Where("settings.json", None))
            for key, value in values.items()
        )
    )


def value_of(value: Value) -> object:
    assert isinstance(value, Constant)
    return value.value


HUGGING_FACE = """
from dataclasses import dataclass, field
from torch import nn
from transformers import HfArgumentParser, Trainer, TrainingArguments

@dataclass
class Shape:
    width: int = field(default=8)

class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(x)

class Weighted(Trainer):
    def __init__(self, *args, weight=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.weight = weight

    def compute_loss(self, model, inputs, return_outputs=False):
        return self.weight * model(inputs["x"]).mean()

def build(shape, training):
    return Weighted(Classifier(shape.width), training, weight=0.5)

def main():
    shape, training = HfArgumentParser((Shape, TrainingArguments)).parse_args_into_dataclasses()
    build(shape, training).train()

if __name__ == "__main__":
    main()
"""


def test_a_trainer_has_the_network_and_arguments_it_was_made_with(tmp_path: Path) -> None:
    run, trainer = made(program_of(tmp_path, train=HUGGING_FACE), "Weighted", settings(width=16))
    network = trainer.attributes["model"]
    assert isinstance(network, Instance)
    assert value_of(network.made_with["width"]) == 16
    assert value_of(trainer.attributes["weight"]) == 0.5
    assert isinstance(trainer.attributes["args"], Leaf)
    method = trainer.cls.methods["compute_loss"]
    assert hook_arguments(run, trainer, method) == {"model": network}
    assert not run.events or all(event.within[-1].name == "__init__" for event in run.events)


def test_a_field_that_the_settings_do_not_name_is_not_known(tmp_path: Path) -> None:
    _, trainer = made(program_of(tmp_path, train=HUGGING_FACE), "Weighted")
    network = trainer.attributes["model"]
    assert isinstance(network, Instance)
    assert isinstance(network.made_with["width"], Part)


LIGHTNING = """
import lightning as L
from torch import nn

class Regressor(L.LightningModule):
    def __init__(self, net, rate, smoothing=0.1):
        super().__init__()
        self.net, self.rate, self.smoothing = net, rate, smoothing

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()
"""


def test_a_lightning_module_made_by_a_script(tmp_path: Path) -> None:
    text = LIGHTNING + "\nL.Trainer(max_epochs=3).fit(Regressor(nn.Linear(4, 1), rate=1e-3))\n"
    _, module = made(program_of(tmp_path, train=text), "Regressor")
    assert value_of(module.attributes["rate"]) == 1e-3
    assert value_of(module.attributes["smoothing"]) == 0.1


def test_a_lightning_module_made_by_the_command_line(tmp_path: Path) -> None:
    text = LIGHTNING + "\nfrom lightning.pytorch.cli import LightningCLI\nLightningCLI(Regressor)\n"
    recipe = settings(model__rate=0.02, trainer__max_epochs=3)
    _, module = made(program_of(tmp_path, train=text), "Regressor", recipe)
    assert value_of(module.attributes["rate"]) == 0.02


def test_a_module_that_nothing_makes_is_open(tmp_path: Path) -> None:
    _, module = made(program_of(tmp_path, train=LIGHTNING), "Regressor")
    assert module.open
    assert isinstance(module.attributes["rate"], Leaf)
