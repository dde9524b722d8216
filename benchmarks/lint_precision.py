"""How much `stethoscope lint` says about packages that people keep well, per line of code that trains.

    python benchmarks/lint_precision.py PACKAGE... [--keep REPORTS] [--limit SECONDS] [--findings]

Each PACKAGE is a folder with the unpacked source of one, named after it and its version. To get one without
running anything of it, take its source distribution from the package index by its address and unpack it
(`pip download` of a source distribution runs its setup.py). --keep names a folder for the reports: a package
that has one there is not examined again. --findings lists every finding above a note, for the verdicts in
docs/lint-precision.md.

A line trains where its file reaches backward(): it makes the call, calls or derives from something of the
package that does, directly or not, or fills in the hook that a framework goes backward behind. Tests of the
package are left out. This is counted here from the bare syntax, and not from what the linter understood.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 300
BACKWARD = frozenset({"backward", "manual_backward"})
HOOKS = {
    "LightningModule": {"training_step"},
    "Trainer": {"compute_loss", "training_step"},
    "SFTTrainer": {"compute_loss"},
    "Seq2SeqTrainer": {"compute_loss", "training_step"},
}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Unit:
    """A function or class at the top of a file, or (nameless) the file's own statements."""

    file: str
    name: str
    uses: frozenset[str]  # names that it calls or derives from
    trains: bool


def main() -> None:
    """Examine every package, and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--limit", type=int, default=LIMIT_S)
    parser.add_argument("--findings", action="store_true")
    options = parser.parse_args()
    print("| package | lines | lines that train | above a note | of these where it trains | notes |")
    print("|---|---|---|---|---|---|")
    totals, rules, listed = Counter[str](), Counter[str](), list[str]()
    for package in options.packages:
        report = _report(package, options.keep, options.limit)
        if report is None:
            print(f"| {package.name} | not finished in {options.limit} s | | | | |", flush=True)
            continue
        training = training_files(package)
        counts = _counts(report, package, training)
        print(
            "| " + " | ".join([package.name, *(f"{count:,}" for count in counts.values())]) + " |", flush=True
        )
        totals.update(counts)
        rules.update(f"{one['code']} {one['name']} ({one['severity']})" for one in report["findings"])
        listed += [_listed(one) for one in report["findings"] if one["severity"] != "note"]
    print("| all | " + " | ".join(f"{count:,}" for count in totals.values()) + " |\n")
    print(*(f"{count:4} {rule}" for rule, count in sorted(rules.items())), sep="\n")
    if options.findings:
        print("", *listed, sep="\n")


def _report(package: Path, keep: Path | None, limit: int) -> dict[str, Any] | None:
    """The linter's report on a package, as JSON says it."""
    kept = keep / f"{package.name}.json" if keep is not None else None
    if kept is not None and kept.exists():
        return dict(json.loads(kept.read_text()))
    command = [sys.executable, "-m", "stethoscope", "lint", "--format", "json", package.name]
    try:
        done = subprocess.run(
            command, cwd=package.parent, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(done.stdout)
    return dict(json.loads(done.stdout))


def _counts(report: dict[str, Any], package: Path, training: dict[str, int]) -> dict[str, int]:
    loud = [one for one in report["findings"] if one["severity"] != "note"]
    where = [_inside(one["where"][0]["file"], package) for one in loud]
    return {
        "lines": report["lines"],
        "training": sum(training.values()),
        "loud": len(loud),
        "loud there": sum(file in training for file in where),
        "notes": len(report["findings"]) - len(loud),
    }


def _inside(file: str, package: Path) -> str:
    """A file by its path below the package, however the report names it."""
    parts = Path(file).parts
    return "/".join(parts[parts.index(package.name) + 1 :]) if package.name in parts else file


def _listed(finding: dict[str, Any]) -> str:
    where = finding["where"][0]
    return f"{where['file']}:{where['line']}: {finding['code']} {finding['message']}"


# Which files train


def training_files(package: Path) -> dict[str, int]:
    """The files that reach backward(), by their path below the package, with their lines."""
    units: list[Unit] = []
    lines: dict[str, int] = {}
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        if _is_test(file) or not path.is_file():
            continue
        text = path.read_bytes()
        lines[file] = text.count(b"\n") + 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                units += _units(ast.parse(text), file)
        except (SyntaxError, ValueError, RecursionError):
            continue
    return {file: lines[file] for file in sorted({unit.file for unit in _reaching(units)})}


def _is_test(file: str) -> bool:
    *folders, name = file.split("/")
    return name.startswith("test_") or name.endswith("_test.py") or bool({"tests", "testing"} & set(folders))


def _units(tree: ast.Module, file: str) -> Iterator[Unit]:
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = {node.name for node in tree.body if isinstance(node, Definition)}
    for node in tree.body:
        used = _used(node)
        # A name means this file's own, or what was imported under it; a method's name says nothing.
        known = {f"{file}:{name}" for name in used & own} | {imported[name] for name in used & set(imported)}
        name = node.name if isinstance(node, Definition) else ""
        yield Unit(file, name, frozenset(known), _trains(node))


def _used(node: ast.AST) -> set[str]:
    """The names that are called or derived from."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            found.add(inner.func.id)
        elif isinstance(inner, ast.ClassDef):
            found |= {base.id for base in inner.bases if isinstance(base, ast.Name)}
    return found


def _trains(node: ast.AST) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            if inner.func.attr in BACKWARD:
                return True
        elif isinstance(inner, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in inner.bases}
            hooks = set().union(*(HOOKS.get(base, set()) for base in bases))
            if hooks & {getattr(method, "name", "") for method in inner.body}:
                return True
    return False


def _reaching(units: Iterable[Unit]) -> list[Unit]:
    """The units that train, and those that use one of them, until there are no more."""
    waiting = list(units)
    found: list[Unit] = []
    names: set[str] = set()
    while True:
        fresh = [unit for unit in waiting if unit.trains or unit.uses & names]
        if not fresh:
            return found
        found += fresh
        names |= {name for unit in fresh if unit.name for name in (unit.name, f"{unit.file}:{unit.name}")}
        reached = set(map(id, fresh))
        waiting = [unit for unit in waiting if id(unit) not in reached]


if __name__ == "__main__":
    main()
