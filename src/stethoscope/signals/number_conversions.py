"""Whether the program makes numbers of settings that were loaded as text."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, taken_by_name
from stethoscope.program.settings.setting_uses import SettingUses, setting_uses
from stethoscope.program.settings.texts_as_truth import declared_flags
from stethoscope.run import Program, Run
from stethoscope.signals.missing import Missing

# Loaders that follow YAML 1.2 or convert by type, and resolvers that teach PyYAML the missing numbers.
_CONVERTING_LOADERS = re.compile(
    r"^\s*(?:from|import)\s+(?:omegaconf|hydra|ruamel|yacs|jsonargparse|pydantic|cattrs|dacite|detectron2|fvcore)\b"
    r"|\bLightningCLI\(|add_implicit_resolver\(|msgspec\.convert\([^)]*strict=False",
    re.MULTILINE,
)
_CONVERTERS = frozenset(
    {"float", "int", "Decimal", "literal_eval", "eval", "float32", "float64", "tensor", "as_tensor"}
)


@dataclass(frozen=True, slots=True, eq=False)
class NumberConversions:
    """What the source does with a setting before it is used as a number: of one program, or of several of
    which one reads the settings.
    """

    programs: tuple[Program, ...]

    def may_convert(self, name: str) -> bool:
        """Whether a program makes a number of a setting, in its loader or in every use, or nobody can say."""
        return any(_may_convert(program, name) for program in self.programs)


@dataclass(frozen=True, slots=True)
class _Uses:
    """The places where a program takes its settings."""

    uses: SettingUses

    def convert(self, name: str) -> bool:
        """Whether every one of a setting makes a number of it."""
        taken = list(taken_by_name(name, self.uses.code))
        # An object's own attribute is what it was given, which is looked at there.
        spots = [spot for spot in taken if not self._is_own(spot, name)] or taken
        return bool(spots) and all(self._is_converted(spot) for spot in spots)

    def _is_own(self, spot: Spot, name: str) -> bool:
        holder = spot.node.value if isinstance(spot.node, ast.Attribute) else None
        return isinstance(holder, ast.Name) and holder.id == "self" and bool(self.uses.code.given.get(name))

    def _is_converted(self, spot: Spot) -> bool:
        parent = self.uses.code.parents.get(id(spot.node))
        if isinstance(parent, ast.BoolOp):  # float(cfg.get("lr") or 0.1)
            parent = self.uses.code.parents.get(id(parent))
        if isinstance(parent, ast.Assign):
            return any(self._is_converted_later(target, spot) for target in parent.targets)
        return _is_converter(parent)

    def _is_converted_later(self, target: ast.expr, spot: Spot) -> bool:
        """`self.rate = cfg["lr"]`, and somewhere `float(self.rate)`."""
        code = self.uses.code
        if isinstance(target, ast.Attribute):
            spots = code.attributes.get(target.attr, [])
        else:
            spots = list(code.names_in(spot.source, target.id)) if isinstance(target, ast.Name) else []
        return any(_is_converter(code.parents.get(id(later.node))) for later in spots)


def _is_converter(node: ast.AST | None) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called in _CONVERTERS


def measure(run: Run) -> NumberConversions | Missing:
    """Look at how the source loads and takes its settings."""
    programs = (run.program,) if run.program is not None else run.around
    if not programs:
        return Missing("the training source was not found", log_this="keep a copy of the source with the run")
    return NumberConversions(programs)


def _may_convert(program: Program, name: str) -> bool:
    if _converts_by_loader(program):
        return True
    uses = setting_uses(program)
    if uses is None:  # too large to be followed
        return True
    return _becomes_default_of_flag(uses.code, name) or _Uses(uses).convert(name)


def _becomes_default_of_flag(code: Mentions, name: str) -> bool:
    """`parser.set_defaults(**loaded)`: argparse reads a default that is a text as the type of its flag."""
    told = (spot.node for spot in code.calls.get("set_defaults", ()))
    if not any(isinstance(call, ast.Call) and any(w.arg is None for w in call.keywords) for call in told):
        return False
    typed = (
        getattr(word.value, "id", "")
        for _, call, flag in declared_flags(code)
        for word in call.keywords
        if flag == name and word.arg == "type"
    )
    return any(kind in _CONVERTERS for kind in typed)


@remembered
def _converts_by_loader(program: Program) -> bool:
    return any(_CONVERTING_LOADERS.search(source.text) for source in program)
