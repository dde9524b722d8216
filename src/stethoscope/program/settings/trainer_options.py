"""What a Trainer of transformers is told, set by set: the arguments of a call, or a section of settings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.precision.framework_precision import known_value
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.framework_bases import holds_arguments
from stethoscope.program.walk.values import Constant
from stethoscope.run import Recipe, Where

# Names that nothing but these arguments has.
OWN = frozenset({"per_device_train_batch_size", "per_device_eval_batch_size", "load_best_model_at_end"})
FAMILY = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig")


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """One value and where it is told; `value` is None where only the run knows it."""

    value: object
    where: Where


@dataclass(frozen=True, slots=True, eq=False)
class TrainerOptions:
    """The options of one Trainer by name; `whole` where no others can have been told."""

    told: Mapping[str, Told]
    whole: bool

    def number(self, name: str) -> float | None:
        """The number that is told under a name."""
        value = self.told[name].value if name in self.told else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def word(self, *names: str, default: str) -> str | None:
        """The word that is told under one of these names; None where it is told and not known."""
        for name in names:
            if name in self.told:
                value = self.told[name].value
                # YAML reads a bare `no` as false.
                return "no" if value is False else str(value).lower() if isinstance(value, str) else None
        return default if self.whole else None

    def is_on(self, name: str) -> bool:
        """Whether a switch is told to be on."""
        value = self.told[name].value if name in self.told else None
        return value is True or (isinstance(value, str) and value.lower() == "true")


def trainer_options(index: Index | None, recipe: Recipe | None) -> Iterator[TrainerOptions]:
    """Every set of options, those of calls first."""
    is_used = index is None
    for one in _of_calls(index, recipe) if index is not None else ():
        is_used = True
        if one is not None:
            yield one
    if is_used or (index is not None and _is_parsed(index)):
        yield from _of_sections(recipe)


def _of_calls(index: Index, recipe: Recipe | None) -> Iterator[TrainerOptions | None]:
    """The options of calls; None for a call that takes all of them from elsewhere."""
    tree = settings_tree(recipe)
    run = Execution(index, tree, 0)
    for module in index.modules.values():
        if is_test(module.source) or not any(word in module.source.text for word in FAMILY):
            continue
        for call in all_nodes(module.source.tree, ast.Call):
            if not holds_arguments(dotted(call.func) or ""):
                continue
            words = {word.arg: word.value for word in call.keywords if word.arg is not None}
            told = {}
            for name, node in words.items():
                value = known_value(node, module, tree, run)
                known = value.value if isinstance(value, Constant) else None
                told[name] = Told(known, module.source.where(node))
            is_whole = len(words) == len(call.keywords) and len(call.args) < 2
            yield TrainerOptions(told, is_whole) if told else None


def _is_parsed(index: Index) -> bool:
    """Whether options are read from a command line or a file: `HfArgumentParser(TrainingArguments)`."""
    return any(
        "HfArgumentParser" in module.source.text and any(word in module.source.text for word in FAMILY)
        for module in index.modules.values()
    )


def _of_sections(recipe: Recipe | None) -> Iterator[TrainerOptions]:
    sections: dict[tuple[str | int, ...], dict[str, Told]] = {}
    for setting in recipe or ():
        value = setting.value if setting.known else None
        sections.setdefault(setting.key[:-1], {})[setting.leaf] = Told(value, setting.where)
    for told in sections.values():
        if OWN & told.keys():
            yield TrainerOptions(told, whole=True)
