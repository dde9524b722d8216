"""Settings as a tree, so that one file can build on another and every value keeps its own address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from stethoscope.recipe._text import MAX_DEPTH, MAX_SETTINGS
from stethoscope.run import Key, Setting, Where

NOWHERE = Where()


class TooMuch(Exception):
    """A tree deeper or larger than any settings are, which the reader of a file reports."""


@dataclass(frozen=True, slots=True)
class Section:
    """Values below a key: a mapping, or a list where `is_list`. `where` is the place that begins it."""

    items: Mapping[str | int, Node] = field(default_factory=dict)
    is_list: bool = False
    where: Where = NOWHERE


Node = Setting | Section


def tree_of(settings: Iterable[Setting], where: Where) -> Node:
    """Arrange settings by their keys; of two with one key, the first counts."""
    top: dict[str | int, Node] = {}
    is_list = False
    for setting in settings:
        if not setting.key:
            return setting
        items, is_list = top, is_list or isinstance(setting.key[0], int)
        for part, following in pairwise(setting.key):
            below = items.setdefault(part, Section({}, isinstance(following, int), setting.where))
            if not isinstance(below, Section):
                break  # the key is a scalar's already, which counts
            assert isinstance(below.items, dict)
            items = below.items
        else:
            items.setdefault(setting.key[-1], setting)
    return Section(top, is_list, where)


def put(tree: Node, key: Key, node: Node) -> Node:
    """The tree with a node at a key."""
    if len(key) > MAX_DEPTH:
        raise TooMuch
    if not key:
        return node
    items, is_list = _items(tree) or ({}, isinstance(key[0], int))
    below = items.get(key[0])
    start = Section({}, len(key) > 1 and isinstance(key[1], int), _where(node))
    items = {**items, key[0]: put(below if below is not None else start, key[1:], node)}
    return Section(items, is_list, _where(tree))


def without(tree: Node, key: Key) -> Node:
    """The tree with nothing at a key."""
    inside = _items(tree)
    if inside is None or not key or key[0] not in inside[0]:
        return tree
    items = dict(inside[0])
    if len(key) == 1:
        del items[key[0]]
    else:
        items[key[0]] = without(items[key[0]], key[1:])
    return Section(items, inside[1], _where(tree))


def at(tree: Node, key: Iterable[str | int]) -> Node | None:
    """What stands at a key."""
    node: Node | None = tree
    for part in key:
        inside = _items(node) if node is not None else None
        if inside is None:
            return None
        node = inside[0].get(part)
    return node


def merged(base: Node, over: Node) -> Node:
    """Two trees as one: mappings are joined key by key, anything else is replaced and its place kept."""
    if is_mapping(base) and is_mapping(over):
        below, above = _items(base), _items(over)
        assert below is not None
        assert above is not None
        joined: dict[str | int, Node] = dict(below[0])
        for name, node in above[0].items():
            joined[name] = merged(joined[name], node) if name in joined else node
        return Section(joined, False, _where(over))
    if isinstance(over, Setting):
        return replace(over, replaces=(*over.replaces, *_places(base)))
    return over


def settings_of(tree: Node, above: Key = ()) -> Iterator[Setting]:
    """The values of a tree, depth first, each with its whole key."""
    todo: list[tuple[Key, Node]] = [(above, tree)]
    given = 0
    while todo:
        key, node = todo.pop()
        given += 1
        if len(key) > MAX_DEPTH or given > 2 * MAX_SETTINGS:
            raise TooMuch
        if isinstance(node, Setting):
            yield replace(node, key=key)
        elif node.items:
            todo.extend(((*key, name), below) for name, below in reversed(list(node.items.items())))
        elif key:
            yield Setting(key, [] if node.is_list else {}, node.where)


def is_mapping(node: Node | None) -> bool:
    """Whether a node holds values by name, or is an empty mapping."""
    inside = _items(node) if node is not None else None
    return inside is not None and not inside[1]


def plain(node: Node) -> object:
    """The values of a tree without their addresses; of one that `all_known` accepts."""
    if isinstance(node, Setting):
        return node.value
    if node.is_list:
        return [plain(below) for below in node.items.values()]
    return {name: plain(below) for name, below in node.items.items()}


def all_known(node: Node) -> bool:
    """Whether every value of a tree is known; a tree larger than any settings are is not."""
    todo, seen = [node], 0
    while todo:
        one = todo.pop()
        seen += 1
        if seen > MAX_SETTINGS or (isinstance(one, Setting) and not one.known):
            return False
        if isinstance(one, Section):
            todo.extend(one.items.values())
    return True


def _items(node: Node) -> tuple[Mapping[str | int, Node], bool] | None:
    """The children of a node and whether it is a list; None for a scalar."""
    if isinstance(node, Section):
        return node.items, node.is_list
    if isinstance(node.value, dict | list) and not node.value and node.known:
        return {}, isinstance(node.value, list)
    return None


def _where(node: Node) -> Where:
    return node.where


def _places(node: Node) -> tuple[Where, ...]:
    if isinstance(node, Setting):
        return (node.where, *node.replaces)
    return (node.where,) if node.where.file else ()
