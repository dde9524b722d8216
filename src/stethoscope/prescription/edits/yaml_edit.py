"""YAML: only the value changes; comments, tags, anchors and layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import yaml

from stethoscope.prescription.edits.lines import line_around
from stethoscope.prescription.edits.numbers import is_plain_number, with_dot
from stethoscope.run import ConfigFile, Setting, Splice

SYNTAX = "yaml"
_TAG = re.compile(r"(?:[!&]\S*\s+)+")


def written(value: object, before: str) -> str | None:
    """A value for the place of another one, whose tag and anchor stay."""
    said = _scalar(value)
    kept = _TAG.match(before)
    return f"{kept[0]}{said}" if kept and said is not None else said


def entry(setting: Setting, text: str) -> tuple[int, int] | None:
    """The line of a key that stands on a line of its own."""
    if setting.span is None or not setting.key or not isinstance(setting.key[-1], str):
        return None
    start, end = line_around(text, setting.span)
    name = setting.key[-1]
    stands_first = text[start:end].lstrip().startswith((f"{name}:", f'"{name}"', f"'{name}'", f"{name} :"))
    return (start, end) if stands_first else None


def replaced(setting: Setting, text: str) -> Splice | None:
    """The setting's value replaced by this text."""
    if setting.span is None:
        return None
    return Splice(setting.where.file, *setting.span, text)


def removed(setting: Setting, config: ConfigFile) -> Splice | None:
    """The setting's whole line taken out, where it stands on a line of its own."""
    span = entry(setting, config.text)
    return Splice(setting.where.file, *span, "") if span else None


def _scalar(value: object) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return with_dot(value) if is_plain_number(value) else None
    # What JSON quotes, YAML reads; a bare word might be read as something else.
    return json.dumps(value) if isinstance(value, str) else None


def insertion(text: str, key: Sequence[str], value: object) -> tuple[int, str] | None:
    """Where a new key is written, and as what: behind the last entry of its section, as that is laid out."""
    said = _scalar(value)
    root = _composed(text)
    if said is None or not isinstance(root, yaml.MappingNode):
        return None
    section, missing = _section(root, key)
    lines = [f"{'  ' * depth}{_name(name)}:" for depth, name in enumerate(missing)]
    lines[-1] += f" {said}"
    if section.flow_style:
        return _in_braces(section, missing, said)
    if not section.value:
        return None
    indent = " " * int(section.value[0][0].start_mark.column)
    end = text.find("\n", _end(section, text))
    return len(text) if end < 0 else end, "".join(f"\n{indent}{line}" for line in lines)


def _composed(text: str) -> yaml.Node | None:
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return node


def _section(root: yaml.MappingNode, key: Sequence[str]) -> tuple[yaml.MappingNode, Sequence[str]]:
    """The deepest section on the way to a key that is there, and the rest of the way."""
    section = root
    for depth, name in enumerate(key[:-1]):
        below = next((node for known, node in section.value if known.value == name), None)
        if not isinstance(below, yaml.MappingNode):
            return section, key[depth:]
        section = below
    return section, key[-1:]


def _in_braces(section: yaml.MappingNode, missing: Sequence[str], said: str) -> tuple[int, str] | None:
    if len(missing) > 1:
        return None
    if not section.value:
        return section.start_mark.index + 1, f"{_name(missing[0])}: {said}"
    return section.value[-1][1].end_mark.index, f", {_name(missing[0])}: {said}"


def _end(node: yaml.Node, text: str) -> int:
    """Where the last thing in a node ends; of a block the parser gives where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last, text)
    begin, end = node.start_mark.index, node.end_mark.index
    return begin + len(text[begin:end].rstrip())


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.-]*", name) and not _is_word(name) else json.dumps(name)


def _is_word(name: str) -> bool:
    """Whether YAML reads a bare word as something else than text."""
    return not isinstance(yaml.safe_load(name), str)
