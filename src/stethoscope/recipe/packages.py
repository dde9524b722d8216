"""Which versions a run was made with: what its log prints, what its settings record, and pins beside it.

requirements.txt, constraints.txt, environment.yml   transformers==4.46.3, - pytorch-lightning=2.1.0
poetry.lock, uv.lock, pdm.lock                        the locked version
a log                                                 DeepSpeed info: version=0.14.0; BasicSR: 1.4.2
settings                                              transformers_version: 4.46.3; # lightning.pytorch==2.1.0
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence

from stethoscope.run import Recipe, Where
from stethoscope.run.folder import Entry
from stethoscope.run.packages import Package, normal_name

MAX_BYTES = 5_000_000  # a lock of a large project has a few hundred thousand

_PINS = re.compile(r"^(?:.*requirements?.*|constraints.*)\.(?:txt|in)$|^environment.*\.ya?ml$", re.IGNORECASE)
_LOCKS = frozenset({"poetry.lock", "uv.lock", "pdm.lock"})
_PIN = re.compile(
    r"^\s*(?:- )?(?P<name>[A-Za-z][\w.-]*)(?:\[[^\]]*\])?"
    r"\s*={1,3}\s*(?P<version>\d+(?:\.\d+)+)[\w.+]*(?![\w.]*\*)"
)
_PINNED_IN_PYPROJECT = re.compile(
    r"[\"'](?P<name>[A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*==\s*(?P<version>\d+(?:\.\d+)+)[\w.+]*\s*(?:;[^\"']*)?[\"']"
)

# What frameworks print at the start of a run.
_PRINTED = (
    re.compile(r"DeepSpeed info: version=(?P<deepspeed>\d+(?:\.\d+)+)"),
    re.compile(r"^\s*BasicSR: (?P<basicsr>\d+(?:\.\d+)+)", re.MULTILINE),
    re.compile(r"^\s*PyTorch: (?P<torch>\d+(?:\.\d+)+)", re.MULTILINE),
    re.compile(r"^\s*MMEngine: (?P<mmengine>\d+(?:\.\d+)+)", re.MULTILINE),
    re.compile(r"Ultralytics (?:YOLO ?v?)?(?P<ultralytics>8\.\d+\.\d+)"),
    re.compile(r"Ultralytics \S+ \S+ Python-\S+ torch-(?P<torch>\d+(?:\.\d+)+)"),
)
_HEADED = re.compile(r"^# (?:pytorch_lightning|lightning(?:\.pytorch)?)==(?P<version>\d+(?:\.\d+)+)")
_SETTINGS = {
    "transformers_version": "transformers",
    "lightning_version": "pytorch-lightning",
    "pytorch-lightning_version": "pytorch-lightning",
    "pytorch_lightning_version": "pytorch-lightning",
    "torch_version": "torch",
    "pytorch_version": "torch",
    "mmengine_version": "mmengine",
    "accelerate_version": "accelerate",
    "deepspeed_version": "deepspeed",
}
# Two names of one thing: its versions are the same.
_SAME = {"lightning": "pytorch-lightning", "pytorch": "torch"}


def packages_of(
    files: Iterable[Entry], heads: Sequence[tuple[str, str]], recipe: Recipe | None
) -> tuple[Package, ...]:
    """Every version that is recorded, each package once: what a run said goes before what a project asks for.

    `heads` are the beginnings of the logs: file and text.
    """
    found: dict[str, Package] = {}
    for package in (*_printed(heads), *_in_settings(recipe), *_pinned(files)):
        name = _SAME.get(package.name, package.name)
        found.setdefault(name, Package(name, package.version, package.where))
    return tuple(found.values())


def _printed(heads: Sequence[tuple[str, str]]) -> Iterator[Package]:
    for file, text in heads:
        for pattern in _PRINTED:
            match = pattern.search(text)
            if match:
                name = next(iter(match.groupdict()))
                line = text.count("\n", 0, match.start(name)) + 1
                yield Package(name, match[name], Where(file, line=line))


def _in_settings(recipe: Recipe | None) -> Iterator[Package]:
    for setting in recipe or ():
        name = _SETTINGS.get(setting.leaf)
        version = re.match(r"\d+(?:\.\d+)+", str(setting.value)) if name else None
        if name and version:
            yield Package(name, version[0], setting.where)
    for config in recipe.files if recipe else ():
        headed = _HEADED.match(config.text)
        if headed:
            yield Package("pytorch-lightning", headed["version"], Where(config.file, line=1))


def _pinned(files: Iterable[Entry]) -> Iterator[Package]:
    """The pins of the files nearest the top first; a lock says more than a wish."""
    named = [entry for entry in files if _is_pins(entry) and entry.size <= MAX_BYTES]
    for entry in sorted(named, key=lambda one: (one.name not in _LOCKS, len(one.path.parts), one.file)):
        try:
            text = entry.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        yield from _locked(text, entry) if entry.name in _LOCKS else _lines(text, entry)


def _is_pins(entry: Entry) -> bool:
    return entry.name in _LOCKS or entry.name == "pyproject.toml" or bool(_PINS.match(entry.name))


def _lines(text: str, entry: Entry) -> Iterator[Package]:
    pattern = _PINNED_IN_PYPROJECT if entry.name == "pyproject.toml" else _PIN
    for count, line in enumerate(text.splitlines(), 1):
        match = pattern.search(line)
        if match:
            yield Package(normal_name(match["name"]), match["version"], Where(entry.file, line=count))


def _locked(text: str, entry: Entry) -> Iterator[Package]:
    try:
        listed = tomllib.loads(text).get("package", [])
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(one.get("version"), str) and isinstance(one.get("name"), str):
            yield Package(normal_name(one["name"]), one["version"], Where(entry.file))
