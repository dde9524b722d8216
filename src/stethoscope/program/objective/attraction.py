"""Whether anything in a minimised value draws a network towards something.

A likeness that is lowered may be a term that keeps outputs apart, beside others that say what to learn. Where
nothing else is there to learn from, lowering it is all that training does.
"""

from __future__ import annotations

from stethoscope.program.index import Index
from stethoscope.program.objective.addends import DEPTH, addends_of
from stethoscope.program.objective.declared_numbers import declared_numbers
from stethoscope.program.objective.orientation import Reader
from stethoscope.program.objective.probe import operands_of
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Constant, Value


def only_pushes(reader: Reader, value: Value, index: Index, settings: SettingsTree) -> bool:
    """Whether each term of a minimised value lowers a likeness, or knows of nothing but network outputs."""
    for addend in addends_of(reader.run, value, DEPTH):
        found = reader.contributions(addend.value)
        if any(one.net < 0 for one in found):
            return False
        if not found and not _knows_outputs_alone(reader.run, addend.value, index, settings):
            return False
    return True


def _knows_outputs_alone(run: Execution, value: Value, index: Index, settings: SettingsTree) -> bool:
    """A penalty on a network's output: no label or target goes into it."""
    operands = [operand for operand in operands_of(index, value) if not isinstance(operand, Constant)]
    numbers = declared_numbers(index, settings, operands)
    return bool(operands) and all(o in numbers or comes_from_model(run, o) for o in operands)
