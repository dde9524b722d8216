"""What is true of the folder of blocks as a whole."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import stethoscope.blocks
from stethoscope.discovery import modules_in, spoken_name, summary

FOLDER = Path(stethoscope.blocks.__file__).parent


def _defined() -> list[tuple[str, object]]:
    """The public classes and functions, found by importing every file."""
    return [
        (name, value)
        for module in modules_in("stethoscope.blocks")
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def test_every_public_name_of_every_file_is_a_name_of_the_package() -> None:
    for name, value in _defined():
        assert getattr(stethoscope.blocks, name) is value, name
    assert stethoscope.blocks.__all__ == sorted(name for name, _ in _defined())
    assert set(stethoscope.blocks.__all__) <= set(dir(stethoscope.blocks))


HEADINGS = ["What it does", "The failure it prevents", "When not to use it", "Example", "References"]


@pytest.mark.parametrize("module", list(modules_in("stethoscope.blocks")), ids=spoken_name)
def test_every_file_is_a_page_with_a_picture(module: ModuleType, root: Path) -> None:
    page = inspect.cleandoc(module.__doc__ or "")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    assert re.fullmatch(r"[^.]+\.", summary(module)), "the first line is one sentence"
    assert all(part.strip() for part in re.split(r"^## .*$", page, flags=re.MULTILINE))
    assert (root / "scripts" / "block_pictures" / f"{module.__name__.rpartition('.')[2]}.py").exists()


def test_no_two_files_define_the_same_name() -> None:
    twice = [name for name, number in Counter(name for name, _ in _defined()).items() if number > 1]
    assert twice == []


def test_a_star_import_gives_all_of_them() -> None:
    names: dict[str, object] = {}
    exec("from stethoscope.blocks import *", names)
    assert set(stethoscope.blocks.__all__) <= set(names)


def test_a_name_that_no_block_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonesuch'"):
        _ = stethoscope.blocks.Nonesuch


def test_torch_is_imported_when_a_block_is_asked_for_and_not_before() -> None:
    program = """
import sys
import stethoscope.blocks as blocks
assert "EMA" in dir(blocks) and "EMA" in blocks.__all__
assert "torch" not in sys.modules
from stethoscope.blocks import EMA
assert "torch" in sys.modules and EMA.__module__ == "stethoscope.blocks.ema"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_may_have_the_name_of_what_it_defines(tmp_path: Path) -> None:
    """A copy of the package, in which the file twin.py defines the function twin."""
    package = tmp_path / "copied"
    package.mkdir()
    (package / "__init__.py").write_text((FOLDER / "__init__.py").read_text())
    (package / "twin.py").write_text('"""One."""\n\n\ndef twin() -> int:\n    return 7\n')
    sys.path.insert(0, str(tmp_path))
    try:
        importlib.import_module("copied.twin")
        from copied import twin

        assert twin() == 7
        assert importlib.import_module("copied").twin() == 7
    finally:
        sys.path.remove(str(tmp_path))
        for name in ("copied", "copied.twin"):
            sys.modules.pop(name, None)
