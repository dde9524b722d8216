"""The settings as a tree that source code can be matched against."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from stethoscope.program.remembered import remembered
from stethoscope.run import Key, Recipe

Tree = dict[str, object] | list[object]
Answer = TypeVar("Answer")

PARSED = "parse_args()"  # the holder of what a command line gives, before it has any name

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
    `asked` are the questions asked so far with their answers: what was found with one tree holds for every
    other that answers them alike. `is_declared` says that it holds what the program declares as well, so
    that what a command line gives is known.
    """

    nodes: dict[Key, object] = field(default_factory=dict)
    by_last: dict[str | int, list[Key]] = field(default_factory=dict)
    below_zero: set[str] = field(default_factory=set)
    asked: dict[tuple[str, object, object], object] = field(default_factory=dict)
    is_declared: bool = False
    _texts: set[str] = field(default_factory=set)
    _alike: dict[int, tuple[SettingsTree, int, bool]] = field(default_factory=dict)

    def answers_like(self, other: SettingsTree) -> bool:
        """Whether all that the other was asked so far gets the same answers here."""
        _, asked, alike = self._alike.get(id(other), (None, -1, True))
        if alike and asked != len(other.asked):
            alike = self._answers_all(other)
            self._alike[id(other)] = (other, len(other.asked), alike)
        return alike

    def _answers_all(self, other: SettingsTree) -> bool:
        questions = {
            "find": self._find,
            "values": self._values_named,
            "names": self._named,
            "deeper": self._is_only_deeper,
        }
        for (kind, what, about), answer in other.asked.items():
            given = questions[kind](what, about)  # type: ignore[operator]
            if type(given) is not type(answer) or repr(given) != repr(answer):
                return False
        return True

    def find(self, path: Key, holder: str) -> tuple[Key, object] | None:
        """The one section or value whose key ends with `path`, as written behind `holder` in the code."""
        return self._answer("find", path, holder, self._find(path, holder))

    def values_named(self, name: str) -> list[object]:
        """All values whose key ends with this name."""
        return self._answer("values", name, None, self._values_named(name))

    def named(self, names: Collection[str]) -> frozenset[str]:
        """Those of the names, in small letters, that a value spells: the types that the settings choose."""
        asked = frozenset(names)
        return self._answer("names", asked, None, self._named(asked))

    def is_only_deeper(self, name: str) -> bool:
        """Whether sections have something of this name, and the settings as a whole have not."""
        return self._answer("deeper", name, None, self._is_only_deeper(name))

    def _answer(self, kind: str, what: object, about: object, answer: Answer) -> Answer:
        self.asked[kind, what, about] = answer
        return answer

    def _find(self, path: Key, holder: str) -> tuple[Key, object] | None:
        is_held = holder.lower() in HOLDERS or (self.is_declared and holder == PARSED)
        if not path or (len(path) < 2 and not is_held):
            return None
        found = [key for key in self.by_last.get(path[-1], ()) if key[-len(path) :] == path]
        return (found[0], self.nodes[found[0]]) if len(found) == 1 else None

    def _values_named(self, name: str, _: object = None) -> list[object]:
        return [self.nodes[key] for key in self.by_last.get(name, ())]

    def _is_only_deeper(self, name: str, _: object = None) -> bool:
        return (name,) not in self.nodes and name in self.by_last

    def _named(self, names: frozenset[str], _: object = None) -> frozenset[str]:
        return names & self._texts


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


def with_further(tree: SettingsTree, values: Mapping[str, object]) -> SettingsTree:
    """The same settings with these for the names that have none."""
    further = replace(
        tree,
        nodes=dict(tree.nodes),
        by_last={last: list(keys) for last, keys in tree.by_last.items()},
        asked={},
        is_declared=True,
        _texts=set(tree._texts),
        _alike={},
    )
    for name, value in values.items():
        if name not in tree.by_last:
            _put(further, (name,), value)
    return further


def _put(tree: SettingsTree, key: Key, value: object) -> None:
    if key in tree.nodes:
        return
    tree.nodes[key] = value
    if isinstance(value, str):
        tree._texts.add(value.lower())
    if key:
        tree.by_last.setdefault(key[-1], []).append(key)


def _attach(parent: object, part: str | int, child: object) -> None:
    if isinstance(parent, dict):
        parent.setdefault(part, child)
    elif isinstance(parent, list) and isinstance(part, int) and part == len(parent):
        parent.append(child)
