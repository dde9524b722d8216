"""What a parser of dataclasses gives: `HfArgumentParser((Model, Data, TrainingArguments)).parse_dict(d)`.

One object for each class, in their order. What the settings say of a field is its value; a field that they
do not name has a default that the command line may replace, so that it is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stethoscope.program.walk.framework_bases import holds_arguments
from stethoscope.program.walk.values import (
    Applied,
    ClassValue,
    Constant,
    Instance,
    Items,
    Leaf,
    Outside,
    Settings,
    Value,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

PARSERS = ("HfArgumentParser", "TrlParser", "H4ArgumentParser")
PARSING = frozenset(
    {"parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file"}
    | {"parse_dict", "parse"}
)


def parsed_records(run: Execution, receiver: Value, name: str, keywords: Mapping[str, Value]) -> Items | None:
    """The objects that a parser of dataclasses fills; None where the call is of another kind."""
    if name not in PARSING or not isinstance(receiver, Applied) or not receiver.callee.endswith(PARSERS):
        return None
    asked = receiver.keywords.get("dataclass_types", receiver.args[0] if receiver.args else None)
    classes = asked.items if isinstance(asked, Items) else [asked] if asked is not None else []
    records = [_record(run, one) for one in classes]
    rest = keywords.get("return_remaining_strings")
    return Items([*records, *([Leaf("remaining")] if isinstance(rest, Constant) and rest.value else [])])


def _record(run: Execution, cls: Value) -> Value:
    if isinstance(cls, Outside) and holds_arguments(cls.name):
        return Leaf("args")  # what the settings name, they are asked for under this name
    if not isinstance(cls, ClassValue) or run.index.method(cls.cls, "__init__") is not None:
        return Leaf("record")
    record = Instance(cls.cls, {}, {}, True)
    for ancestor in run.index.lineage(cls.cls):
        for node in ancestor.node.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                known = run.settings.find((node.target.id,), "args")
                if known is not None:
                    record.attributes.setdefault(node.target.id, _value(*known))
    return record


def _value(key: tuple[str | int, ...], value: object) -> Value:
    if isinstance(value, dict | list):
        return Settings(key, value)
    return Constant(value, ".".join(map(str, key)))
