"""Parsers' defaults: the same as the parsers themselves gave, each with its line and span."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.program import read_program, read_source
from stethoscope.recipe.parser_defaults import options_in, options_of, taken_by
from stethoscope.recipe.shell_launcher import trainings
from stethoscope.run import Program

RECORDED = Path(__file__).parent / "recorded" / "parsers"
GIVEN: dict[str, dict[str, object]] = json.loads((RECORDED / "given.json").read_text())


def flat(tree: object, key: str = "") -> dict[str, object]:
    if isinstance(tree, dict | list) and tree:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {k: v for name, below in items for k, v in flat(below, f"{key}.{name}").items()}
    return {key.removeprefix("."): tree}


@pytest.mark.parametrize("name", GIVEN)
def test_the_defaults_are_those_that_the_parser_gave(name: str) -> None:
    source = read_source(RECORDED / name, name, name.removesuffix(".py"))
    options = options_in(source)
    assert {option.setting.dotted: option.setting.value for option in options} == flat(GIVEN[name])
    for option in options:
        setting = option.setting
        assert setting.known
        if setting.span is not None:
            assert source.text[slice(*setting.span)] == setting.text


def program(folder: Path, **files: str) -> Program:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_program(folder, "code")[0]


ARGUMENT = 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--{}", default={})\n'


def test_of_several_scripts_only_the_one_that_ran_is_asked(tmp_path: Path) -> None:
    files = program(
        tmp_path,
        train="import options\n" + ARGUMENT.format("lr", 1),
        finetune=ARGUMENT.format("lr", 2),
        options=ARGUMENT.format("wd", 3),
    )
    assert options_of(files) == ()
    given = {o.setting.dotted: o.setting.value for o in options_of(files, "./train.py")}
    assert given == {"lr": 1, "wd": 3}
    assert [o.setting.value for o in options_of(files, "finetune")] == [2]
    assert options_of(files, "gone.py") == ()


def test_a_default_that_only_the_run_knew_is_unknown(tmp_path: Path) -> None:
    text = (
        'import os\np.add_argument("--workers", default=os.cpu_count())\np.add_argument("--lr", default=LR)\n'
    )
    options = options_of(program(tmp_path, train=text))
    assert [(o.setting.dotted, o.setting.known) for o in options] == [("workers", False), ("lr", False)]


def test_the_command_line_is_understood_as_the_parser_declares_it(tmp_path: Path) -> None:
    text = (RECORDED / "argparse_script.py").read_text()
    options = options_of(program(tmp_path, train=text))
    (launch,) = trainings("python train.py -b 64 --learning-rate 1e-3 --amp data/x --no-ema\n", "run.sh")
    taken = {s.dotted: s.value for s in taken_by(options, launch.settings)}
    assert taken["batch_size"] == 64
    assert taken["lr"] == 1e-3
    assert (taken["amp"], taken["ema"]) == (True, False)
