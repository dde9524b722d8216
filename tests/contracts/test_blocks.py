"""What is true of every block: it explains itself, its example runs, it is shown, its state comes back."""

from __future__ import annotations

import ast
import io
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "src" / "stethoscope" / "blocks").glob("[!_]*.py"))
HEADINGS = [
    "What it does",
    "The failure it prevents",
    "When not to use it",
    "Example",
    "References",
]
LARGEST_PICTURE = 250_000  # bytes; a page with one loads at once
SVG = "{http://www.w3.org/2000/svg}"

each_block = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@each_block
def test_it_explains_itself(path: Path) -> None:
    page = docstring(path)
    summary, _, rest = page.partition("\n")
    assert summary.endswith(".")
    assert not rest.partition("\n")[0].strip(), "the first line is a sentence of its own"
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    assert all(section(page, heading).strip() for heading in HEADINGS)


@each_block
def test_everything_public_says_what_it_gives(path: Path) -> None:
    module = import_module(f"stethoscope.blocks.{path.stem}")
    assert [name for name in public(path) if not getattr(module, name).__doc__] == []


@each_block
def test_it_is_tested(path: Path) -> None:
    assert (ROOT / "tests" / "blocks" / f"test_{path.stem}.py").exists()


@each_block
def test_its_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ran(path)
    assert f"stethoscope.blocks.{path.stem}" in {
        getattr(value, "__module__", "") for value in names.values()
    }, "the example uses its own block"


@each_block
def test_it_has_a_picture_that_tells_what_it_shows(path: Path) -> None:
    assert (ROOT / "scripts" / "block_pictures" / f"{path.stem}.py").exists()
    picture = ROOT / "docs" / "pictures" / "blocks" / f"{path.stem}.svg"
    assert picture.stat().st_size < LARGEST_PICTURE
    root = ElementTree.parse(picture).getroot()
    assert root.tag == f"{SVG}svg"
    assert len(root.findtext(f"{SVG}title", "").split()) > 2
    assert len(root.findtext(f"{SVG}desc", "").split()) > 5


@each_block
def test_its_page_says_what_it_says_and_shows_its_picture(path: Path) -> None:
    page = (ROOT / "docs" / "blocks" / f"{path.stem}.md").read_text("utf-8")
    assert f"](../pictures/blocks/{path.stem}.svg)" in page
    for heading in HEADINGS:
        assert f"\n## {heading}\n" in page
    assert " ".join(section(docstring(path), "What it does").split()) in " ".join(page.split())


@each_block
def test_its_state_comes_back_from_a_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    met = stateful(ran(path), path)
    missing = own_states(path) - {type(value).__name__ for value in met.values()}
    module = import_module(f"stethoscope.blocks.{path.stem}")
    for name, holder in [*met.items(), *((name, getattr(module, name)()) for name in missing)]:
        # One that was only made, by another chance, and has seen nothing of what the example does.
        fresh = ran(path, seed=1, until=name)[name] if name in met else getattr(module, name)()
        fresh.load_state_dict(through_a_file(holder.state_dict()))
        assert same(fresh.state_dict(), holder.state_dict()), f"{name} is another after loading"


def test_torch_is_not_imported_before_a_block_is_asked_for() -> None:
    program = (
        "import sys, stethoscope.blocks as blocks\n"
        "names = [name for name in dir(blocks) if not name.startswith('_')]\n"
        "assert 'EMA' in names, names\n"
        "assert 'torch' not in sys.modules, 'importing or listing the blocks imports torch'\n"
        "blocks.EMA\n"
        "assert 'torch' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@each_block
def test_everything_public_can_be_imported_from_the_folder(path: Path) -> None:
    blocks, module = import_module("stethoscope.blocks"), import_module(f"stethoscope.blocks.{path.stem}")
    for name in public(path):
        assert getattr(blocks, name) is getattr(module, name)


def public(path: Path) -> set[str]:
    """The names of the functions and classes that a block offers."""
    body = ast.parse(path.read_text("utf-8")).body
    defined = (node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return {node.name for node in defined if not node.name.startswith("_")}


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""


def section(page: str, heading: str) -> str:
    """What stands below a heading."""
    return re.split(r"^## ", page.partition(f"## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def ran(path: Path, seed: int = 0, until: str | None = None) -> dict[str, Any]:
    """The names that a block's example leaves behind, or has as soon as it knows that name."""
    shown = section(docstring(path), "Example")
    code = [line for line in shown.splitlines() if line.startswith("    ") or not line.strip()]
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    names: dict[str, Any] = {"__name__": "__main__"}
    for statement in ast.parse(dedent("\n".join(code))).body:
        whole = ast.Module([statement], type_ignores=[])
        exec(compile(whole, f"{path.stem}'s example", "exec"), names)
        if until in names:
            break
    return names


def stateful(names: dict[str, Any], path: Path) -> dict[str, Any]:
    """The objects of a block's classes that have a state to be saved and loaded."""
    return {
        name: value
        for name, value in names.items()
        if not isinstance(value, type)
        and type(value).__module__ == f"stethoscope.blocks.{path.stem}"
        and hasattr(value, "state_dict")
        and hasattr(value, "load_state_dict")
    }


def own_states(path: Path) -> set[str]:
    """The public classes that define a state of their own."""
    return {
        node.name
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if {"state_dict", "load_state_dict"} <= {inner.name for inner in methods(node)}
        if not {"_is_protocol", "Protocol"} & {ast.unparse(base) for base in node.bases}
    }


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (inner for inner in node.body if isinstance(inner, ast.FunctionDef))


def through_a_file(state: Any) -> Any:
    """The state as a checkpoint gives it back: read without running any code in it."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def same(one: Any, other: Any) -> bool:
    """Whether two states hold the same, tensors bit by bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))
