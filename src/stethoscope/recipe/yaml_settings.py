"""YAML settings, with the line and span of every value."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from stethoscope.errors import UnreadableFile
from stethoscope.run import Key, Setting, Where

SYNTAX = "yaml"
ENDINGS = (".yml", ".yaml")


def read(text: str, file: str, first_line: int = 1) -> tuple[Setting, ...]:
    """Every scalar of a YAML document as a setting."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as problem:
        raise UnreadableFile(f"{file}: not valid YAML: {problem}") from None
    return tuple(_settings(root, (), file, first_line)) if root is not None else ()


def _settings(node: yaml.Node, key: Key, file: str, first_line: int) -> Iterator[Setting]:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _settings(value, (*key, str(name.value)), file, first_line)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _settings(value, (*key, index), file, first_line)
    else:
        yield _scalar(node, key, file, first_line)


def _scalar(node: yaml.Node, key: Key, file: str, first_line: int) -> Setting:
    value = yaml.SafeLoader("").construct_object(node)  # type: ignore[no-untyped-call]
    where = Where(file, line=node.start_mark.line + first_line)
    span = (node.start_mark.index, node.end_mark.index)
    return Setting(key, value, where, str(node.value), span, plain=node.style is None)
