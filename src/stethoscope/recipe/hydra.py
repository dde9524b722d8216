"""A Hydra configuration tree, composed as Hydra composes it, each value with the file it comes from.

conf/config.yaml              conf/optim/adam.yaml
defaults:                     lr: 1e-3
  - optim: adam               betas: [0.9, 0.999]
  - _self_
seed: 1
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import yaml_settings
from stethoscope.recipe._files import Files
from stethoscope.recipe._text import MAX_DEPTH
from stethoscope.recipe._tree import Node, Section, TooMuch, at, merged, put, settings_of, tree_of, without
from stethoscope.recipe.hydra_overrides import Override
from stethoscope.recipe.interpolation import loaded_by_omegaconf, resolved_tree
from stethoscope.run import Key, Setting, Where

_ENDINGS = (".yaml", ".yml")
MOST_CONFIGS = 500  # of one composition; defaults lists that multiply end here

_HEADER = re.compile(r"^#\s*@package\s+(\S+)", re.MULTILINE)
_DEFAULT = re.compile(r"(?P<flags>(?:(?:optional|override)\s+)*)(?P<group>[^@\s]+)(?:@(?P<package>[\w.]*))?$")


@dataclass(frozen=True, slots=True)
class Composed:
    """A composed configuration, the files it was made of, and the configs that were not found."""

    settings: tuple[Setting, ...]
    missing: tuple[str, ...] = ()


def compose(
    folder: Path, shown: str, name: str, overrides: Sequence[Override] = (), files: Files | None = None
) -> Composed:
    """Compose the primary config `name` of a tree, with overrides as from the command line."""
    tree = _Tree(folder, shown, files if files is not None else Files())
    tree.choices = {o.key: o for o in overrides if tree.is_group(o.group)}
    primary = _Default("", name.removesuffix(".yaml").removesuffix(".yml"), "", primary=True)
    try:
        whole: Node = Section({}, where=Where(shown))
        for package, node in tree.parts(primary, 0):
            whole = merged(whole, _below(package, node))
        for override in overrides:
            if override.key not in tree.choices:
                whole = _overridden(whole, override)
        settings = tuple(settings_of(resolved_tree(without(whole, ("hydra",)))))
    except (TooMuch, RecursionError):
        raise UnreadableFile(f"{shown}: its configs hold more than any settings do") from None
    return Composed(settings, tuple(dict.fromkeys(tree.missing)))


def is_primary(settings: Sequence[Setting]) -> bool:
    """Whether a YAML file is one that Hydra composes others into: it has a list of defaults."""
    return any(len(s.key) > 1 and s.key[0] == "defaults" and isinstance(s.key[1], int) for s in settings)


@dataclass(frozen=True, slots=True)
class _Default:
    """An entry of a defaults list: a config of a group, seen from the config that lists it.

    `group` is whole, from the tree's top; `package` is where the config's values go.
    """

    group: str
    name: str
    package: str
    optional: bool = False
    primary: bool = False
    explicit: bool = False

    @property
    def path(self) -> str:
        return f"{self.group}/{self.name}" if self.group else self.name

    @property
    def key(self) -> str:
        """The name by which an override speaks of the entry."""
        usual = self.group.replace("/", ".")
        return self.group if self.package == usual else f"{self.group}@{self.package or '_global_'}"


@dataclass(slots=True)
class _Tree:
    """The folder of configs, what was chosen for each group, and what was not found."""

    folder: Path
    shown: str
    files: Files
    choices: dict[str, Override] = field(default_factory=dict)
    listed: dict[str, object] = field(default_factory=dict)  # choices made by `override` in defaults lists
    chosen: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    count: int = 0

    def is_group(self, group: str) -> bool:
        """Whether a name is that of a folder of configs."""
        return bool(group) and ".." not in group and (self.folder / group).is_dir()

    def load(self, default: _Default) -> tuple[Node, str | None] | None:
        """A config's tree and its package header; None where there is no such file."""
        for ending in _ENDINGS:
            path = self.folder / f"{default.path}{ending}"
            if ".." not in default.path and path.is_file():
                opened = self.files.read(path, os.path.join(self.shown, f"{default.path}{ending}"))
                settings = loaded_by_omegaconf(yaml_settings.read(opened.text, opened.file))
                header = _HEADER.search(opened.text)
                return tree_of(settings, Where(opened.file, line=1)), header[1] if header else None
        return None

    def parts(self, default: _Default, depth: int) -> Iterator[tuple[str, Node]]:
        """The configs that an entry brings, in the order in which they are merged."""
        self.count += 1
        if depth > MAX_DEPTH or self.count > MOST_CONFIGS:
            raise UnreadableFile(f"{self.shown}: the defaults lists lead back to {default.path}")
        loaded = self.load(default)
        if loaded is None:
            if not default.optional:
                self.missing.append(default.path)
            return
        node, header = loaded
        if header is not None and not default.explicit:
            default = replace(default, package=_of_header(header, default))
        own = without(node, ("defaults",))
        entries = list(_entries(at(node, ("defaults",))))
        if not any(entry == "_self_" for entry, _ in entries):
            entries.append(("_self_", None))
        self._note_overrides(entries, default)
        appended = [o for o in self.choices.values() if o.appends] if default.primary else []
        entries += [("+", override) for override in appended]
        # Hydra looks at the last entry first; what that chooses is known to those before it.
        found: list[list[tuple[str, Node]]] = []
        for entry, value in reversed(entries):
            if entry == "_self_":
                found.append([(default.package, own)])
                continue
            children = self._children(entry, value, default)
            found.append([part for child in children for part in self.parts(child, depth + 1)])
        for parts in reversed(found):
            yield from parts

    def _note_overrides(self, entries: list[tuple[str, object]], parent: _Default) -> None:
        """`override group: option` speaks of a group that some other config lists; the outermost wins."""
        for entry, value in entries:
            spec = _DEFAULT.match(entry)
            if spec is not None and "override" in spec["flags"]:
                child = _child(spec, "", parent)
                self.listed.setdefault(child.key, value)

    def _children(self, entry: str, value: object, parent: _Default) -> list[_Default]:
        """The configs that one entry of a defaults list stands for."""
        if isinstance(value, Override):
            return _appended(value)
        spec = _DEFAULT.match(entry)
        if spec is None or "override" in spec["flags"] or spec["group"].startswith(("hydra/", "/hydra/")):
            return []
        if value is _CONFIG:  # a config by its path, not an option of a group
            group, _, name = spec["group"].rpartition("/")
            return [_child(spec, name, parent, group)]
        child = _child(spec, "", parent)
        options = self._chosen(child, value)
        return [replace(_child(spec, option, parent), name=option) for option in options]

    def _chosen(self, child: _Default, value: object) -> list[str]:
        """The options of a group: from the command line, from an `override`, or as listed."""
        if child.key in self.choices:
            override = self.choices[child.key]
            value = None if override.deletes else override.value
        elif child.key in self.listed:
            value = self.listed[child.key]
        options = value if isinstance(value, list) else [value]
        names = [self._filled(str(option)) for option in options if option not in (None, "null", "")]
        if len(names) == 1:
            self.chosen.setdefault(child.group, names[0])
        if "???" in names:
            self.missing.append(f"{child.group}=???")
        return [name for name in names if name != "???"]

    def _filled(self, option: str) -> str:
        """`${model}_small`: an option named after another group's choice."""
        return re.sub(r"\$\{([\w./]+)\}", lambda found: self._choice_of(found[1]) or found[0], option)

    def _choice_of(self, group: str) -> str | None:
        if group in self.chosen:
            return self.chosen[group]
        override = self.choices.get(group)
        return str(override.value) if override is not None else None


def _appended(override: Override) -> list[_Default]:
    """The configs that the command line adds: `+experiment=long`."""
    options = override.value if isinstance(override.value, list) else [override.value]
    package = override.group.replace("/", ".") if override.package is None else override.package
    package = "" if package == "_global_" else package
    explicit = override.package is not None
    return [_Default(override.group, str(option), package, explicit=explicit) for option in options]


_CONFIG = object()


def _entries(defaults: Node | None) -> Iterator[tuple[str, object]]:
    """A defaults list: each entry's name, and the option or options it chooses."""
    if not isinstance(defaults, Section) or not defaults.is_list:
        return
    for node in defaults.items.values():
        if isinstance(node, Setting):
            yield str(node.value), _CONFIG
            continue
        for name, value in node.items.items():
            if isinstance(value, Setting):
                yield str(name), value.value
            else:
                yield str(name), [below.value for below in value.items.values() if isinstance(below, Setting)]


def _child(spec: re.Match[str], name: str, parent: _Default, group: str | None = None) -> _Default:
    """An entry seen from the config that lists it: its whole group, and the package its values go to."""
    written = spec["group"] if group is None else group
    absolute = spec["group"].startswith("/")
    written = written.lstrip("/")
    whole = written if absolute or not parent.group else f"{parent.group}/{written}".rstrip("/")
    package = spec["package"]
    if package is None:
        relative = written.replace("/", ".")
    else:
        relative = (
            "" if package == "_here_" else package.replace("_group_", f"_global_.{whole.replace('/', '.')}")
        )
    relative = relative.replace("_name_", name) if name else relative
    final = _final(parent.package, relative)
    explicit = package is not None
    return _Default(whole, name, final, "optional" in spec["flags"], explicit=explicit)


def _final(parent: str, relative: str) -> str:
    joined = ".".join(part for part in (parent, relative) if part)
    cut = joined.rfind("_global_")
    return joined if cut < 0 else joined[cut + len("_global_") :].lstrip(".")


def _of_header(header: str, default: _Default) -> str:
    """`# @package _global_`: where a config's values go, whoever lists it."""
    if header == "_group_":
        return default.package
    header = header.replace("_group_", default.group.replace("/", ".")).replace("_name_", default.name)
    return "" if header == "_global_" else header.removeprefix("_global_.")


def _below(package: str, node: Node) -> Node:
    key: Key = tuple(package.split(".")) if package else ()
    return put(Section({}), key, node) if key else node


def _overridden(tree: Node, override: Override) -> Node:
    """One `key=value` of the command line, on top of everything else."""
    if override.deletes:
        return without(tree, override.path)
    earlier = at(tree, override.path)
    if earlier is None:
        return put(tree, override.path, override.node)
    return put(tree, override.path, merged(earlier, override.node))
