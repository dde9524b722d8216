"""The script that draws the blocks: what it calls alike, and that it draws the same twice."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stethoscope.figures import svg
from stethoscope.figures.chart import Chart, Figure, Image, Line

SCRIPT = Path(__file__).parents[2] / "scripts" / "write_pictures.py"


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = spec_from_file_location("write_pictures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(end: float, shade: float = 0.5, name: str = "loss") -> str:
    chart = Chart("Loss", lines=[Line(name, [0, 1, 2], [0, 1, end])], y_limits=(0, 2))
    return svg.render(Figure(panels=[chart, Image("", np.full((4, 4), shade))]))


def test_what_rounds_differently_is_alike_and_what_looks_different_is_not(writer: ModuleType) -> None:
    picture = drawn(1.0)
    assert writer.alike(picture, picture)
    assert writer.alike(picture, drawn(1.001, 0.505))
    assert not writer.alike(picture, drawn(1.2))
    assert not writer.alike(picture, drawn(1.0, 0.6))
    assert not writer.alike(picture, drawn(1.0, name="lass"))
    assert not writer.alike("", picture)


def test_pictures_are_written_checked_and_the_same_twice(
    writer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noise.py").write_text(
        "import torch\n"
        "from stethoscope.figures.chart import Chart, Line\n"
        "def picture():\n"
        "    return Chart('Noise', lines=[Line('', range(9), torch.randn(9))])\n"
    )
    for name, folder in (("ROOT", tmp_path), ("SCRIPTS", tmp_path), ("PICTURES", tmp_path / "out")):
        monkeypatch.setattr(writer, name, folder)
    script, target = tmp_path / "noise.py", tmp_path / "out" / "noise.svg"
    assert not writer.done(script, check=True)
    assert not target.exists()
    assert writer.done(script, check=False)
    first = target.read_bytes()
    target.unlink()
    assert writer.done(script, check=False)
    assert target.read_bytes() == first
    assert writer.done(script, check=True)
    assert "out/noise.svg differs" in capsys.readouterr().out


def test_a_script_that_fails_is_named_and_does_not_stop_the_others(
    writer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("def picture():\n    raise ValueError('no loss')\n")
    (tmp_path / "b.py").write_text(
        "from stethoscope.figures.chart import Chart\ndef picture():\n    return Chart('b')\n"
    )
    for name, folder in (("ROOT", tmp_path), ("SCRIPTS", tmp_path), ("PICTURES", tmp_path / "out")):
        monkeypatch.setattr(writer, name, folder)
    monkeypatch.setattr(sys, "argv", ["write_pictures.py"])
    with pytest.raises(SystemExit) as ended:
        writer.main()
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "a.py failed" in said
    assert "no loss" in said
    assert "wrote out/b.svg" in said
