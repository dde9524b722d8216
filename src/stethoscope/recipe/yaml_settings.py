"""YAML settings as PyYAML loads them, with the line and span of every value.

The text is read event by event and never constructed, so neither nesting nor tags nor aliases can do
harm. An alias and a merge stand where they are used, not where their anchor is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import yaml

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._files import Files, Opened
from stethoscope.recipe._tree import Node, Section, TooMuch, merged, settings_of, tree_of
from stethoscope.recipe.interpolation import resolved
from stethoscope.run import Key, Setting, Where

SYNTAX = "yaml"
ENDINGS = (".yml", ".yaml")

MAX_SETTINGS = 20_000  # a settings file has hundreds; more is data, or aliases that multiply
MAX_DEPTH = 60  # deeper than any real settings; also ends an alias that holds itself

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ANCHOR = re.compile(r"&\S+\s+")
_MERGE = "tag:yaml.org,2002:merge"
_SCALARS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "timestamp")
)


def read(text: str, file: str, first_line: int = 1) -> tuple[Setting, ...]:
    """Every scalar (and every empty list or mapping) of the documents in a text."""
    try:
        roots = _trees(text, file)
    except UnicodeError:
        raise UnreadableFile(f"{file}: not valid YAML: it holds characters that are no text") from None
    except yaml.YAMLError as problem:
        raise UnreadableFile(f"{file}: not valid YAML: {_in_one_line(problem, first_line)}") from None
    return tuple(_settings(roots, file, first_line))


def read_file(opened: Opened, files: Files) -> tuple[Setting, ...]:
    """The settings of a file on top of those in its `_BASE_` files, with every `${...}` followed."""
    try:
        return resolved(_on_bases(opened, files, ()))
    except TooMuch:
        raise UnreadableFile(f"{opened.file}: its references lead to more than any settings hold") from None


def _on_bases(opened: Opened, files: Files, above: tuple[str, ...]) -> tuple[Setting, ...]:
    if opened.file in above:
        raise UnreadableFile(f"{opened.file}: builds on itself by way of {above[-1]}")
    own = read(opened.text, opened.file)
    bases = [str(s.value) for s in own if s.key[:1] == ("_BASE_",) and isinstance(s.value, str)]
    if not bases:
        return own
    tree: Node = Section({}, where=Where(opened.file))
    for name in bases:
        below = _on_bases(files.beside(opened, name), files, (*above, opened.file))
        tree = merged(tree, tree_of(below, Where(opened.file)))
    kept = [setting for setting in own if setting.key[:1] != ("_BASE_",)]
    return tuple(settings_of(merged(tree, tree_of(kept, Where(opened.file)))))


@dataclass(slots=True, eq=False)
class _Node:
    """A value as written: a scalar's text, or children with their keys."""

    kind: str  # "scalar", "list" or "mapping"
    line: int
    span: tuple[int, int]
    text: str = ""
    value: object = None
    plain: bool = False
    children: dict[str | int, _Node] = field(default_factory=dict)
    merged: list[_Node] = field(default_factory=list)
    replaced: dict[str, list[int]] = field(default_factory=dict)  # key -> lines that a later one overrides
    awaiting: _Node | None = None  # the key of the pair that is being read
    anchored: int | None = None  # the line that an alias of a scalar takes its value from


def _trees(text: str, file: str) -> list[_Node]:
    """The document roots; read event by event, so that a text nested too deep is given up at once."""
    resolver = yaml.SafeLoader("")
    roots: list[_Node] = []
    anchors: dict[str, _Node] = {}
    open_nodes: list[_Node] = []
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = {}
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            node = open_nodes.pop()
            node.span = (node.span[0], _place(event)[2])
            _attach(node, open_nodes, roots, text)
        elif isinstance(event, yaml.AliasEvent):
            _attach(_alias(event, anchors, file), open_nodes, roots, text)
        elif isinstance(event, yaml.NodeEvent):
            node = _node(event, resolver, text)
            if event.anchor is not None:
                anchors[event.anchor] = node
            if node.kind == "scalar":
                _attach(node, open_nodes, roots, text)
            elif len(open_nodes) < MAX_DEPTH:
                open_nodes.append(node)
            else:
                raise UnreadableFile(f"{file}: nested deeper than {MAX_DEPTH} levels")
    return roots


def _node(event: yaml.NodeEvent, resolver: yaml.SafeLoader, text: str) -> _Node:
    line, start, end = _place(event)
    if isinstance(event, yaml.SequenceStartEvent):
        return _Node("list", line, (start, end), value=[])
    if isinstance(event, yaml.MappingStartEvent):
        return _Node("mapping", line, (start, end), value={})
    assert isinstance(event, yaml.ScalarEvent)
    # The span begins after an anchor, which other lines may refer to, and includes a tag.
    anchor = _ANCHOR.match(text, start) if event.anchor is not None else None
    begin = min(anchor.end(), end) if anchor else start
    plain = not event.style and event.tag is None
    return _Node("scalar", line, (begin, end), event.value, _loaded(event, resolver), plain)


def _loaded(event: yaml.ScalarEvent, resolver: yaml.SafeLoader) -> object:
    """The value PyYAML's safe loader makes of a scalar; a foreign tag is read as if it were not there."""
    tag = event.tag
    if tag is None or tag == "!" or tag not in _SCALARS:
        implicit = (not event.style, bool(event.style))
        tag = resolver.resolve(yaml.ScalarNode, event.value, implicit)  # type: ignore[no-untyped-call]
    if tag == _MERGE or tag not in _SCALARS:
        return event.value
    try:
        return resolver.construct_object(yaml.ScalarNode(tag, event.value))
    except (yaml.YAMLError, ValueError, KeyError, OverflowError):
        return event.value


def _alias(event: yaml.AliasEvent, anchors: dict[str, _Node], file: str) -> _Node:
    line, start, end = _place(event)
    anchored = anchors.get(str(event.anchor))
    if anchored is None:
        raise UnreadableFile(f"{file}: not valid YAML: *{event.anchor} has no anchor")
    if anchored.kind != "scalar":
        return _Node("alias", line, (start, end), merged=[anchored])
    text = f"*{event.anchor}"
    return replace(anchored, line=line, span=(start, end), text=text, plain=False, anchored=anchored.line)


def _place(event: yaml.Event) -> tuple[int, int, int]:
    """An event's line, counted from 0, and the offsets of its text."""
    assert event.start_mark is not None
    assert event.end_mark is not None
    return event.start_mark.line, event.start_mark.index, event.end_mark.index


def _attach(node: _Node, open_nodes: list[_Node], roots: list[_Node], text: str) -> None:
    """Put a finished node where it belongs: into the innermost open list or mapping, or among the roots."""
    if not open_nodes:
        roots.append(node)
        return
    parent = open_nodes[-1]
    if parent.kind == "list":
        parent.children[len(parent.children)] = node
    elif parent.awaiting is None:
        parent.awaiting = node
    else:
        key, parent.awaiting = parent.awaiting, None
        _pair(parent, key, node, text)


def _pair(mapping: _Node, key: _Node, value: _Node, text: str) -> None:
    if key.plain and key.text == "<<":
        mapping.merged.extend(value.children.values() if value.kind == "list" else [value])
        return
    name = key.text if key.kind == "scalar" else text[slice(*key.span)][:40]
    earlier = mapping.children.pop(name, None)
    if earlier is not None:
        mapping.replaced.setdefault(name, []).append(earlier.line)
    mapping.children[name] = value


def _settings(roots: list[_Node], file: str, first_line: int) -> Iterator[Setting]:
    """Walk the trees in the order written, depth first."""
    # A node seen through an alias or a merge is addressed by the place that uses it (`seen_from`).
    todo: list[tuple[_Node, Key, _Node | None, tuple[int, ...]]] = [
        (root, (), None, ()) for root in reversed(roots)
    ]
    given = 0
    while todo:
        node, key, seen_from, earlier = todo.pop()
        if node.kind == "alias":
            if len(key) <= MAX_DEPTH:
                todo.append((node.merged[0], key, seen_from or node, earlier))
            continue
        below = _children(node, seen_from) if node.kind != "scalar" else []
        if below and len(key) < MAX_DEPTH:
            todo.extend(
                (child, (*key, name), used_at, tuple(node.replaced.get(str(name), ())))
                for name, child, used_at in reversed(below)
            )
            continue
        given += 1
        if given > MAX_SETTINGS or len(todo) > MAX_SETTINGS:
            raise UnreadableFile(
                f"{file}: holds more than {MAX_SETTINGS:,} values, which is no settings file"
            )
        yield _setting(node, key, seen_from, earlier, file, first_line)


def _children(node: _Node, seen_from: _Node | None) -> list[tuple[str | int, _Node, _Node | None]]:
    """The children of a list or mapping, merged ones included; each with the place that uses it."""
    found = {name: (child, seen_from) for name, child in node.children.items()}
    merges, merged = [(use, seen_from) for use in node.merged], {id(node)}
    while merges:
        use, place = merges.pop(0)
        source = use.merged[0] if use.kind == "alias" else use
        place = place or (use if use.kind == "alias" else None)
        if source.kind == "mapping" and id(source) not in merged:
            merged.add(id(source))
            for name, child in source.children.items():
                found.setdefault(name, (child, place))
            merges[:0] = [(further, place) for further in source.merged]  # before the next of a list
    return [(name, child, place) for name, (child, place) in found.items()]


def _setting(
    node: _Node, key: Key, seen_from: _Node | None, earlier: tuple[int, ...], file: str, first_line: int
) -> Setting:
    where = Where(file, line=(seen_from or node).line + first_line)
    replaces = tuple(Where(file, line=line + first_line) for line in earlier)
    span = None if seen_from is not None else node.span
    anchored = node.line if seen_from is not None else node.anchored
    through = (Where(file, line=anchored + first_line),) if anchored is not None else ()
    return Setting(key, node.value, where, node.text, span, node.plain, replaces, through)


def _in_one_line(problem: yaml.YAMLError, first_line: int) -> str:
    mark = getattr(problem, "problem_mark", None)
    said = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
    return f"line {mark.line + first_line}: {said}" if mark is not None else str(said)
