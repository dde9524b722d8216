"""Which files of a project belong together: those that import each other, directly or not.

Imports are found by their text, without parsing: most files of a repository need never be parsed to lint
one of them.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[\w.]+")
_BY_NAME = re.compile(r"import_module\(|__import__\(")
# What builds the objects that settings name by their dotted path, and how they name them.
_BUILDS = re.compile(r"\binstantiate\w*\(|\bLightningCLI\(")
_TARGET = re.compile(r"(?:_target_|class_path)[\"']?[ \t]*[:=][ \t]*[\"']?([A-Za-z_]\w*(?:\.\w+)+)")
SOURCE_FOLDERS = frozenset({"src", "lib", "python", "source"})
_NO_NAMES = frozenset({"as", "import", "from"})


def groups(
    modules: Mapping[str, str],
    packages: frozenset[str],
    wanted: Iterable[str],
    settings: Mapping[str, str] | None = None,
    homeless: Container[str] = (),
) -> list[list[str]]:
    """The groups of modules that import each other, those with a wanted module in them.

    `modules` maps dotted names to texts, `packages` are those that are folders. What builds objects from
    settings goes with the modules that the `settings` beside it name, dotted names to texts as well. In each
    group, the nearest to the wanted ones come first. What is `homeless` lies in no folder: nothing can import
    it, and it imports only what goes by its whole name.
    """
    after = _neighbours(modules, packages, homeless)
    for builder, other in _built(modules, packages, settings or {}):
        after[builder].add(other)
    near = _both_ways(after)
    found: list[list[str]] = []
    seen: set[str] = set()
    for start in wanted:
        if start in homeless:
            found.append(_reached([start], after))
        elif start not in seen:
            group = _reached([start], near)
            seen.update(group)
            found.append(group)
    among = set(wanted)
    return [
        group if group[0] in homeless else _reached([one for one in group if one in among], near)
        for group in found
    ]


def _both_ways(after: Mapping[str, set[str]]) -> dict[str, set[str]]:
    near: dict[str, set[str]] = defaultdict(set)
    for name, others in after.items():
        near[name] |= others
        for other in others:
            near[other].add(name)
    return near


def _reached(starts: Sequence[str], near: Mapping[str, set[str]]) -> list[str]:
    order = dict.fromkeys(starts)
    waiting = deque(starts)
    while waiting:
        for other in sorted(near.get(waiting.popleft(), ())):
            if other not in order:
                order[other] = None
                waiting.append(other)
    return list(order)


def _neighbours(
    modules: Mapping[str, str], packages: frozenset[str], homeless: Container[str]
) -> dict[str, set[str]]:
    """What each module imports, its package among them."""
    by_end = _by_end(modules)
    after: dict[str, set[str]] = defaultdict(set)
    for name, text in modules.items():
        known = _by_whole_name(by_end) if name in homeless else by_end
        after[name].update(_imported(name, text, packages, modules, known))
        # A package is one thing: settings and registries name its modules where no import does.
        package = name.rpartition(".")[0]
        if package in packages:
            after[name].add(package)
    return after


def _built(
    modules: Mapping[str, str], packages: frozenset[str], settings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each module that builds what settings name, with each module that they name: `parts.nets.Unet`."""
    named = {home: set(_TARGET.findall(text)) for home, text in settings.items() if _TARGET.search(text)}
    builders = [name for name, text in modules.items() if _BUILDS.search(text)] if named else []
    by_end = _by_end(modules) if builders else {}
    for builder in builders:
        folder = builder.rpartition(".")[0]
        beside = (paths for home, paths in named.items() if not folder or home.startswith(f"{folder}."))
        for path in sorted({path for paths in beside for path in paths}):
            found = _nearest(path.rpartition(".")[0], builder, by_end, packages)
            if found is not None and found != builder:
                yield builder, found


def _by_end(modules: Iterable[str]) -> dict[str, list[str]]:
    """Modules by every ending of their name: a project is rarely imported from its own root."""
    by_end: dict[str, list[str]] = defaultdict(list)
    for name in modules:
        parts = name.split(".")
        for start in range(len(parts)):
            by_end[".".join(parts[start:])].append(name)
    return by_end


def _by_whole_name(by_end: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What a script at the project's top could import: no module that lies deeper than a source folder."""
    whole: dict[str, list[str]] = {}
    for said, modules in by_end.items():
        at_top = [name for name in modules if name == said or name[: -len(said) - 1] in SOURCE_FOLDERS]
        if at_top:
            whole[said] = at_top
    return whole


def _imported(
    name: str,
    text: str,
    packages: frozenset[str],
    modules: Mapping[str, str],
    by_end: Mapping[str, list[str]],
) -> Iterator[str]:
    package = name if name in packages else name.rpartition(".")[0]
    for said in _said(text, package):
        found = _nearest(said, name, by_end, packages)
        if found is not None and found != name:
            yield found
    if _BY_NAME.search(text) and package:
        yield from (other for other in modules if other.startswith(f"{package}.") and other != name)


def _said(text: str, package: str) -> Iterator[str]:
    """Every dotted name that a file's imports may mean, `from a import b` as a and as a.b."""
    for found in _IMPORT.finditer(text):
        if found["modules"] is not None:
            for part in found["modules"].split(","):
                dotted = _NAME.match(part.strip())
                yield from _heads(dotted[0]) if dotted else ()
            continue
        base = _base(found["base"], package)
        if base is None:
            continue
        if base:
            yield from _heads(base)  # importing a.b runs a's own file first
        for name in _NAME.findall(found["names"]):
            if name not in _NO_NAMES:
                yield f"{base}.{name}" if base else name


def _heads(dotted: str) -> Iterator[str]:
    parts = dotted.split(".")
    yield from (".".join(parts[:count]) for count in range(len(parts), 0, -1))


def _base(said: str, package: str) -> str | None:
    """The module that a `from` names, dots resolved; None where they lead out of the project."""
    name = said.lstrip(".")
    level = len(said) - len(name)
    if not level:
        return name
    parts = package.split(".") if package else []
    if level - 1 > len(parts):
        return None
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def _nearest(
    said: str, importer: str, by_end: Mapping[str, list[str]], packages: frozenset[str]
) -> str | None:
    """The module of this name, or that ends with it, which lies nearest to the importer."""
    home = importer.split(".")
    everywhere = by_end.get(said, ())
    candidates = [other for other in everywhere if _importable(other, said, home)]
    if not candidates and len(everywhere) == 1 and said.partition(".")[0] not in sys.stdlib_module_names:
        # A script may add any folder to its path, but what lies in a package goes by the package's name.
        is_inside = everywhere[0][: -len(said)].rstrip(".") in packages
        return None if is_inside else everywhere[0]
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    return max(candidates, key=lambda other: (other == said, _shared(home, other.split("."))))


def _importable(module: str, said: str, home: Sequence[str]) -> bool:
    """Whether a module goes by this name for an importer: from a folder above it, or from a source folder."""
    prefix = module[: -len(said)].rstrip(".").split(".") if module != said else []
    if not prefix:
        return True
    if said.partition(".")[0] in sys.stdlib_module_names and prefix != list(home[:-1]):
        return False
    above = prefix[:-1] if prefix[-1] in SOURCE_FOLDERS else prefix
    return list(home[: len(above)]) == above or "." in said


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
