"""The settings as a tree that source code can be matched against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stethoscope.program.remembered import remembered
from stethoscope.run import Key, Recipe

Tree = dict[str, object] | list[object]

# What code calls the object that holds the settings.
HOLDERS = frozenset(
    {
        "opt",
        "opts",
        "cfg",
        "config",
        "conf",
        "args",
        "hparams",
        "params",
        "options",
        "settings",
        "hp",
        "flags",
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class SettingsTree:
    """Every section and value by its full key, and the keys by their last part.

    `below_zero` are the dotted keys that some file sets to a negative number, the file that counts or not.
    """

    nodes: dict[Key, object] = field(default_factory=dict)
    by_last: dict[str | int, list[Key]] = field(default_factory=dict)
    below_zero: set[str] = field(default_factory=set)

    def find(self, path: Key, holder: str) -> tuple[Key, object] | None:
        """The one section or value whose key ends with `path`, as written behind `holder` in the code."""
        if not path or (len(path) < 2 and holder.lower() not in HOLDERS):
            return None
        found = [key for key in self.by_last.get(path[-1], ()) if key[-len(path) :] == path]
        return (found[0], self.nodes[found[0]]) if len(found) == 1 else None

    def values_named(self, name: str) -> list[object]:
        """All values whose key ends with this name."""
        return [self.nodes[key] for key in self.by_last.get(name, ())]

    def texts(self) -> Iterator[str]:
        """Every text value, such as the names of types."""
        return (value for value in self.nodes.values() if isinstance(value, str))


@remembered
def settings_tree(recipe: Recipe | None) -> SettingsTree:
    """Arrange the settings of a recipe; where two files set one key, the first wins."""
    tree = SettingsTree()
    for setting in recipe or ():
        if isinstance(setting.value, int | float) and setting.value < 0:
            tree.below_zero.add(setting.dotted)
        if setting.key in tree.nodes:
            continue
        _put(tree, setting.key, setting.value)
        for length in range(len(setting.key) - 1, -1, -1):
            _put(tree, setting.key[:length], {} if isinstance(setting.key[length], str) else [])
            parent = tree.nodes[setting.key[:length]]
            _attach(parent, setting.key[length], tree.nodes[setting.key[: length + 1]])
    return tree


def _put(tree: SettingsTree, key: Key, value: object) -> None:
    if key in tree.nodes:
        return
    tree.nodes[key] = value
    if key:
        tree.by_last.setdefault(key[-1], []).append(key)


def _attach(parent: object, part: str | int, child: object) -> None:
    if isinstance(parent, dict):
        parent.setdefault(part, child)
    elif isinstance(parent, list) and isinstance(part, int) and part == len(parent):
        parent.append(child)
