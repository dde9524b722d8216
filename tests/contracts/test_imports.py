"""A rule imports no rule: each can be read, changed or removed alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FINDINGS = SOURCE / "stethoscope" / "findings"
# What a rule may know of its own room.
SHARED = {"stethoscope.findings", "stethoscope.findings.finding"}


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*/*.py")), ids=lambda path: path.stem)
def test_a_rule_imports_no_rule(path: Path) -> None:
    own = {name for name in imported(path) if name.startswith("stethoscope.findings")}
    private = {name for name in own if name.rpartition(".")[2].startswith("_")}
    assert own - private <= SHARED


def test_the_line_does_not_import_torch_even_inside_functions() -> None:
    beside = {"blocks", "clinic", "guard", "integrations"}
    line = [path for path in (SOURCE / "stethoscope").rglob("*.py") if not beside & set(path.parts)]
    heavy = {"torch", "transformers", "lightning", "accelerate", "pickle", "scipy"}
    assert [path for path in line if {name.partition(".")[0] for name in imported(path)} & heavy] == []


def test_nothing_is_pickled() -> None:
    own = [path for path in (SOURCE / "stethoscope").rglob("*.py") if "clinic" not in path.parts]
    assert [path for path in own if "pickle" in imported(path)] == []


def imported(path: Path) -> set[str]:
    """The modules a file imports, in functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports are absolute here"
            names.add(node.module)
    return names
