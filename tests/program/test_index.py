"""The index knows what a name stands for, whatever way it was imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.program import read_program
from stethoscope.program.index import Class, External, Function, Index, Module, Variable, index


def indexed(folder: Path, files: dict[str, str]) -> Index:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    program, _ = read_program(folder, "code")
    return index(program)


@pytest.mark.parametrize(
    ("line", "name", "means"),
    [
        ("import torch.nn.functional as nnf", "nnf.interpolate", "torch.nn.functional.interpolate"),
        ("from torch.nn import functional as F", "F.interpolate", "torch.nn.functional.interpolate"),
        ("from torch import nn", "nn.functional.interpolate", "torch.nn.functional.interpolate"),
        ("import torch", "torch.nn.functional.interpolate", "torch.nn.functional.interpolate"),
        (
            "from torchvision.transforms import functional as TF",
            "TF.resize",
            "torchvision.transforms.functional.resize",
        ),
        ("import cv2", "cv2.resize", "cv2.resize"),
        ("def f():\n    import cv2 as cv", "cv.resize", "cv2.resize"),
        (
            "try:\n    from apex import amp\nexcept ImportError:\n    amp = None",
            "amp.initialize",
            "apex.amp.initialize",
        ),
        (
            "tb = None\ntry:\n    import tensorboardX as tb\nexcept ImportError:\n    pass",
            "tb.Writer",
            "tensorboardX.Writer",
        ),
    ],
)
def test_an_outside_name_gets_its_full_form(tmp_path: Path, line: str, name: str, means: str) -> None:
    found = indexed(tmp_path, {"train.py": line})
    assert found.resolve(found.modules["train"], name) == External(means)


@pytest.mark.parametrize(
    "line",
    [
        "from lib.losses import Score",
        "from lib import Score",
        "import lib.losses\nScore = lib.losses.Score",
        "from lib import *",
        "from lib.losses import Score as Score",
    ],
)
def test_a_class_is_found_through_every_kind_of_import(tmp_path: Path, line: str) -> None:
    found = indexed(
        tmp_path,
        {
            "lib/losses.py": "class Score: ...",
            "lib/__init__.py": "from .losses import Score",
            "train.py": line,
        },
    )
    target = found.resolve(found.modules["train"], "Score")
    if isinstance(target, Variable):
        target = found.resolve(found.modules["train"], "lib.losses.Score")
    assert isinstance(target, Class)
    assert target.qualified == "lib.losses.Score"


def test_a_root_above_the_import_root_is_understood(tmp_path: Path) -> None:
    found = indexed(
        tmp_path,
        {"src/lib/losses.py": "def score(): ...", "src/lib/train.py": "from lib.losses import score"},
    )
    target = found.resolve(found.modules["src.lib.train"], "score")
    assert isinstance(target, Function)
    assert target.where().file == str(Path("code/src/lib/losses.py"))


def test_relative_imports_and_modules_resolve(tmp_path: Path) -> None:
    found = indexed(tmp_path, {"a/b/c.py": "from ..d import e\nfrom .. import d", "a/d.py": "def e(): ..."})
    home = found.modules["a.b.c"]
    assert isinstance(found.resolve(home, "e"), Function)
    assert isinstance(found.resolve(home, "d"), Module)
    assert isinstance(found.resolve(home, "d.e"), Function)


def test_a_method_is_found_in_a_base_of_another_file(tmp_path: Path) -> None:
    found = indexed(
        tmp_path,
        {
            "base.py": "import torch.nn as nn\nclass Base(nn.Module):\n    def test(self): ...",
            "model.py": "from base import Base\nclass Model(Base): ...",
        },
    )
    model = next(cls for cls in found.classes if cls.name == "Model")
    method = found.method(model, "test")
    assert method is not None
    assert method.spoken == "Base.test"
    assert found.outside_bases(model) == ("torch.nn.Module",)


def test_registries_hold_what_was_registered(tmp_path: Path) -> None:
    found = indexed(
        tmp_path,
        {
            "losses.py": "@LOSSES.register()\nclass One: ...\n@register_loss('two')\ndef second(): ...\n"
            "def third(): ...\nLOSSES.register('3', third)\n@LOSSES.register\nclass Four: ..."
        },
    )
    assert set(found.registries["LOSSES"]) == {"one", "3", "four"}
    assert found.registries["register_loss"]["two"].name == "second"


def test_other_peoples_code_is_not_read(tmp_path: Path) -> None:
    for folder in (".git", "venv/lib/python3.11/site-packages", "node_modules/x", "mine"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("x = 1")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    program, unread = read_program(tmp_path, "code")
    assert [source.module for source in program] == ["mine.a"]
    assert unread == ()


def test_a_file_that_is_not_python_is_listed(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("print 'hello'")
    (tmp_path / "deep.py").write_text("x = " + "(" * 5_000 + ")" * 5_000)
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    program, unread = read_program(tmp_path, "code")
    assert program.sources == ()
    assert {Path(problem.file).name for problem in unread} == {"two.py", "deep.py", "bytes.py"}
    assert all(problem.reason.startswith("not valid Python") for problem in unread)


@given(st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_read_or_listed(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("code")
    (folder / "a.py").write_bytes(content)
    program, unread = read_program(folder, "code")
    assert len(program.sources) + len(unread) == 1
    index(program)
