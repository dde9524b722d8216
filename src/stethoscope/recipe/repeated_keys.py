"""Keys that a YAML file sets more than once; only the last of them counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

MAX_DEPTH = 60
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A key, the lines that set it (counted from 1), and what the first and the last of them say.

    `first_entry` holds the offsets of the entry that does not count, from its key to the end of its value.
    """

    name: str
    lines: tuple[int, int]
    values: tuple[str, str]
    first_entry: tuple[int, int]


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read: its keys with line, start and end, and the key that waits."""

    path: tuple[str, ...]
    is_list: bool
    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    key: tuple[str, int, int] | None = None
    count: int = 0


def repeated_keys(text: str) -> tuple[RepeatedKey, ...]:
    """Every key that a later line of the same section sets again; empty where the text is no YAML."""
    try:
        return tuple(_repeated(text))
    except (yaml.YAMLError, UnicodeError):
        return ()


def _repeated(text: str) -> list[RepeatedKey]:
    found: list[RepeatedKey] = []
    stack: list[_Open] = []
    for event in yaml.parse(text, Loader=_LOADER):
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        assert event.start_mark is not None
        assert event.end_mark is not None
        line, start, end = event.start_mark.line + 1, event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            _finish(stack, end, text, found)
        elif (
            stack and not stack[-1].is_list and stack[-1].key is None and isinstance(event, yaml.ScalarEvent)
        ):
            stack[-1].key = (event.value, line, start)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(stack) >= MAX_DEPTH:
                return []
            stack.append(_Open(_path(stack), isinstance(event, yaml.SequenceStartEvent)))
        else:
            _finish(stack, end, text, found)
    return found


def _path(stack: list[_Open]) -> tuple[str, ...]:
    if not stack:
        return ()
    above = stack[-1]
    last = str(above.count) if above.is_list else (above.key[0] if above.key is not None else "?")
    return (*above.path, last)


def _finish(stack: list[_Open], end: int, text: str, found: list[RepeatedKey]) -> None:
    """A value is read: note its key, and whether that was set before."""
    if not stack:
        return
    above = stack[-1]
    if above.is_list:
        above.count += 1
        return
    if above.key is None:  # a key that is a collection
        above.key = ("?", 0, end)
        return
    (name, line, start), above.key = above.key, None
    earlier = above.seen.get(name)
    above.seen[name] = (line, start, end)
    if earlier is not None and name not in {"<<", "?"}:
        values = (_value(text, name, *earlier[1:]), _value(text, name, start, end))
        dotted = ".".join((*above.path, name))
        found.append(RepeatedKey(dotted, (earlier[0], line), values, (earlier[1], earlier[2])))


def _value(text: str, name: str, start: int, end: int) -> str:
    return text[start:end].partition(":")[2].partition(" #")[0].strip()
