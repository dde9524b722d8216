"""An edit changes one setting, in every format, and the file's own parser sees no other difference."""

from __future__ import annotations

import ast
import json
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.prescription.edits.diff import spliced
from stethoscope.prescription.edits.setting_edit import with_new, with_value, without
from stethoscope.recipe import read_settings
from stethoscope.recipe.parser_defaults import options_in
from stethoscope.run import ConfigFile, Program, Recipe, Run, Setting, Source

Tree = dict[str, Any]

# --- files, written and parsed by others than us ------------------------------------------------------


def as_yaml(tree: Tree) -> str:
    return "# head\n" + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True) + "# tail\n"


def as_json(tree: Tree) -> str:
    return json.dumps(tree, indent=2) + "\n"


def as_toml(tree: Tree) -> str:
    scalars = {name: value for name, value in tree.items() if not isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}  # {name}" for name, value in scalars.items()]
    for name, below in tree.items():
        if isinstance(below, dict):
            lines += [f"\n[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in below.items())]
    return "\n".join(lines) + "\n"


def as_python(tree: Tree) -> str:
    lines = []
    for name, value in tree.items():
        if isinstance(value, dict):
            inside = "".join(f"    {key}={one!r},\n" for key, one in value.items())
            lines.append(f"{name} = dict(\n{inside})")
        else:
            lines.append(f"{name} = {value!r}  # {name}")
    return "\n".join(lines) + "\n"


def as_shell(tree: Tree) -> str:
    flat = {name: value for name, value in tree.items() if not isinstance(value, dict)}
    given = " \\\n".join(f"  --{name} {shlex.quote(str(value))}" for name, value in flat.items())
    return f"#!/bin/bash\npython train.py \\\n{given}\n"


def of_python(text: str) -> Tree:
    found: Tree = {}
    for statement in ast.parse(text).body:
        assert isinstance(statement, ast.Assign)
        assert isinstance(statement.targets[0], ast.Name)
        value = statement.value
        if isinstance(value, ast.Call):
            made = {str(word.arg): ast.literal_eval(word.value) for word in value.keywords}
            found[statement.targets[0].id] = made
        else:
            found[statement.targets[0].id] = ast.literal_eval(value)
    return found


def of_shell(text: str) -> Tree:
    words = shlex.split(text.replace("\\\n", " "), comments=True)[2:]
    return {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}


@dataclass(frozen=True)
class Format:
    syntax: str
    file: str
    dump: Callable[[Tree], str]
    load: Callable[[str], Any]


FORMATS = [
    Format("yaml", "settings.yml", as_yaml, yaml.safe_load),
    Format("json", "settings.json", as_json, json.loads),
    Format("toml", "settings.toml", as_toml, tomllib.loads),
    Format("python", "configs/settings.py", as_python, of_python),
    Format("shell", "run.sh", as_shell, of_shell),
]
formats = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.syntax)

names = st.sampled_from(["lr", "warmup_steps", "beta2", "name", "path", "amp", "seed", "z"])
words = st.text("abcXYZ019_./-", min_size=1, max_size=8).filter(lambda word: word[0].isalpha())
numbers = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(1e-12, 1e12, allow_nan=False).map(lambda value: float(f"{value:.6g}")),
)
scalars = st.one_of(numbers, st.booleans(), words)
trees = st.dictionaries(
    names, st.one_of(scalars, st.dictionaries(names, scalars, min_size=2, max_size=4)), min_size=2, max_size=5
).filter(lambda tree: sum(not isinstance(value, dict) for value in tree.values()) >= 2)


def run_with(text: str, form: Format) -> tuple[Run, tuple[Setting, ...]]:
    found = read_settings(text, form.file, form.syntax)
    config = ConfigFile(form.file, text, "run", form.syntax)
    return Run("run", "run", recipe=Recipe(found, (config,))), found


def flat(tree: Any, above: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {above.rstrip("."): tree}
    found: dict[str, Any] = {}
    for name, below in tree.items():
        found |= flat(below, f"{above}{name}.")
    return found


def differing(before: Any, after: Any) -> set[str]:
    one, other = flat(before), flat(after)
    same = {key for key in one if key in other and repr(one[key]) == repr(other[key])}
    return (one.keys() | other.keys()) - same


@formats
@settings(max_examples=60)
@given(data=st.data())
def test_exactly_one_value_changes(form: Format, data: st.DataObject) -> None:
    text = form.dump(data.draw(trees))
    run, found = run_with(text, form)
    if not found:
        return
    setting = data.draw(st.sampled_from(found))
    splice = with_value(setting, data.draw(scalars), run)
    if splice is None:
        return
    after = spliced(text, [splice])
    assert differing(form.load(text), form.load(after)) == {setting.dotted}
    outside = after[: splice.start], after[splice.start + len(splice.text) :]
    assert outside == (text[: splice.start], text[splice.end :])


@formats
@settings(max_examples=60)
@given(data=st.data())
def test_exactly_one_key_is_taken_out(form: Format, data: st.DataObject) -> None:
    text = form.dump(data.draw(trees))
    run, found = run_with(text, form)
    if not found:
        return
    setting = data.draw(st.sampled_from(found))
    splice = without(setting, run)
    if splice is None:
        return
    after = spliced(text, [splice])
    before_tree, after_tree = flat(form.load(text)), flat(form.load(after))
    assert before_tree.keys() - after_tree.keys() == {setting.dotted}
    assert {key: after_tree[key] for key in after_tree} == {
        key: value for key, value in before_tree.items() if key != setting.dotted
    }


@pytest.mark.parametrize("form", FORMATS[:3], ids=lambda form: form.syntax)
@settings(max_examples=100)
@given(data=st.data())
def test_exactly_one_key_is_added(form: Format, data: st.DataObject) -> None:
    tree = data.draw(trees)
    text = form.dump(tree)
    run, _ = run_with(text, form)
    sections = [(), *((name,) for name, below in tree.items() if isinstance(below, dict)), ("new",)]
    key = (*data.draw(st.sampled_from(sections)), data.draw(st.sampled_from(["grad_clip", "on", "a b"])))
    value = data.draw(scalars)
    splice = with_new(key, value, form.file, run)
    assert splice is not None
    after = spliced(text, [splice])
    added = flat(form.load(after))
    assert differing(form.load(text), form.load(after)) == {".".join(key)}
    assert repr(added[".".join(key)]) == repr(value)
    assert splice.start == splice.end, "nothing that stood there is touched"
    assert with_new(key, value, form.file, run_with(after, form)[0]) is None, "it is there already"
    order = [name for name in form.load(after) if name in tree]
    assert order == list(form.load(text)), "what was there keeps its order"


ADDED = {
    "a section between two, with comments": (
        "settings.yml",
        "# head\noptim:   # how\n    lr: 1.0e-3   # peak\n    # betas: no\n\ndata:\n    size: 4\n# tail\n",
        ("optim", "grad_clip"),
        1.0,
        "# head\noptim:   # how\n    lr: 1.0e-3   # peak\n    grad_clip: 1.0\n    # betas: no\n\n"
        "data:\n    size: 4\n# tail\n",
    ),
    "a list and a block of text at the end": (
        "settings.yml",
        "train:\n  steps: 5\n  betas:\n  - 0.9\n  - 0.99\nnote: |\n  one\n  two\n",
        ("train", "lr"),
        0.1,
        "train:\n  steps: 5\n  betas:\n  - 0.9\n  - 0.99\n  lr: 0.1\nnote: |\n  one\n  two\n",
    ),
    "braces": (
        "settings.yml",
        "optim: {lr: 0.1}  # x\n",
        ("optim", "clip"),
        1,
        "optim: {lr: 0.1, clip: 1}  # x\n",
    ),
    "no line end": ("settings.yml", "lr: 0.1", ("clip",), True, "lr: 0.1\nclip: true"),
    "a section that is not there": ("settings.yml", "lr: 0.1\n", ("a", "b"), 1, "lr: 0.1\na:\n  b: 1\n"),
    "a table with comments": (
        "settings.toml",
        "seed = 1\n\n[optim]  # x\nlr = 0.1  # peak\n# end\n\n[data]\nsize = 4\n",
        ("optim", "clip"),
        1.5,
        "seed = 1\n\n[optim]  # x\nlr = 0.1  # peak\nclip = 1.5\n# end\n\n[data]\nsize = 4\n",
    ),
    "the top of a file of tables": (
        "settings.toml",
        "# head\nseed = 1\n\n[optim]\nlr = 0.1\n",
        ("clip",),
        2,
        "# head\nseed = 1\nclip = 2\n\n[optim]\nlr = 0.1\n",
    ),
    "an object on lines": (
        "settings.json",
        '{\n    "optim": {\n        "lr": 0.1\n    },\n    "seed": 1\n}\n',
        ("optim", "clip"),
        1.0,
        '{\n    "optim": {\n        "lr": 0.1,\n        "clip": 1.0\n    },\n    "seed": 1\n}\n',
    ),
    "an object on one line": ("settings.json", '{"a": {}}', ("a", "b"), "x", '{"a": {"b": "x"}}'),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_new_key_stands_where_a_person_would_write_it(name: str) -> None:
    file, text, key, value, wanted = ADDED[name]
    form = next(form for form in FORMATS if form.file == file)
    splice = with_new(key, value, file, run_with(text, form)[0])
    assert splice is not None
    assert spliced(text, [splice]) == wanted


@pytest.mark.parametrize(
    ("file", "text", "key"),
    [
        ("settings.yml", "a: &x\n  b: 1\nc:\n  <<: *x\n", ("a", "new")),  # c would have it, too
        ("settings.yml", "lr: 0.1\n", ("lr", "new")),  # a number is no section
        ("settings.yml", "a: 1\n---\nb: 2\n", ("new",)),  # which of the two?
        ("settings.toml", "optim = {lr = 0.1}\n", ("optim", "new")),
        ("settings.json", '[{"a": 1}]', ("a", "new")),
        ("settings.yml", "", ("new",)),
    ],
)
def test_where_there_is_no_place_for_a_key_there_is_no_edit(
    file: str, text: str, key: tuple[str, ...]
) -> None:
    form = next(form for form in FORMATS if form.file == file)
    assert with_new(key, 1, file, run_with(text, form)[0]) is None


# --- each format, by example --------------------------------------------------------------------------

EXAMPLES = {
    "yaml": (
        "optim:\n  lr: !!float 2e-4   # keep me\n  name: adam\n",
        "optim.lr",
        1e-5,
        "optim:\n  lr: !!float 1.0e-05   # keep me\n  name: adam\n",
        "optim:\n  name: adam\n",
    ),
    "json": (
        '{\n  "optim": {"lr": 2e-4, "name": "adam"}\n}\n',
        "optim.lr",
        1e-5,
        '{\n  "optim": {"lr": 1e-05, "name": "adam"}\n}\n',
        '{\n  "optim": {"name": "adam"}\n}\n',
    ),
    "toml": (
        "[optim]\nlr = 2e-4 # keep me\nname = 'adam'\n",
        "optim.lr",
        1e-5,
        "[optim]\nlr = 1.0e-05 # keep me\nname = 'adam'\n",
        "[optim]\nname = 'adam'\n",
    ),
    "python": (
        "optim = dict(\n    lr=2e-4,  # keep me\n    name='adam',\n)\n",
        "optim.lr",
        1e-5,
        "optim = dict(\n    lr=1e-05,  # keep me\n    name='adam',\n)\n",
        None,
    ),
    "shell": (
        "LR=2e-4  # keep me\npython train.py --lr $LR \\\n  --warmup 5 \\\n  --name adam\n",
        "lr",
        1e-5,
        "LR=1e-05  # keep me\npython train.py --lr $LR \\\n  --warmup 5 \\\n  --name adam\n",
        None,
    ),
}


@formats
def test_a_value_keeps_everything_around_it(form: Format) -> None:
    text, key, value, changed, shortened = EXAMPLES[form.syntax]
    run, found = run_with(text, form)
    setting = next(one for one in found if one.dotted == key)
    splice = with_value(setting, value, run)
    assert splice is not None
    assert spliced(text, [splice]) == changed
    taken = without(setting, run)
    if shortened is not None:
        assert taken is not None
        assert spliced(text, [taken]) == shortened


@formats
def test_what_is_set_already_is_no_edit(form: Format) -> None:
    _, key, value, changed, _ = EXAMPLES[form.syntax]
    run, found = run_with(changed, form)
    setting = next(one for one in found if one.dotted == key)
    assert with_value(setting, value, run) is None


def test_a_variable_that_two_options_use_is_left_alone() -> None:
    text = "N=5\npython train.py --warmup $N --decay $N --name a\n"
    run, found = run_with(text, FORMATS[4])
    assert with_value(next(one for one in found if one.dotted == "warmup"), 9, run) is None
    assert with_value(next(one for one in found if one.dotted == "name"), "b", run) is not None


def test_an_option_is_taken_out_of_a_command_with_its_line() -> None:
    text = "python train.py \\\n  --lr 1e-4 \\\n  --warmup 5 \\\n  --name adam\n"
    run, found = run_with(text, FORMATS[4])
    splice = without(next(one for one in found if one.dotted == "warmup"), run)
    assert splice is not None
    assert spliced(text, [splice]) == "python train.py \\\n  --lr 1e-4 \\\n  --name adam\n"


def test_an_anchor_that_others_use_is_left_alone() -> None:
    text = "base: &rate 1.0\nlr: *rate\nother: 2\n"
    run, found = run_with(text, FORMATS[0])
    assert with_value(next(one for one in found if one.dotted == "base"), 5, run) is None


def test_what_a_shell_would_act_on_is_not_written() -> None:
    run, found = run_with("python train.py --name a --lr 1\n", FORMATS[4])
    assert with_value(found[0], "$(rm -rf .)", run) is None


PARSER = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=3e-4, help="the peak")  # keep me
parser.add_argument("--name", default="adam")
"""


def test_the_default_of_a_parser_is_changed_in_the_source() -> None:
    source = Source("train.py", "train", PARSER, ast.parse(PARSER))
    options = tuple(option.setting for option in options_in(source))
    run = Run("run", "run", recipe=Recipe(defaults=options), program=Program(".", (source,)))
    lr = next(one for one in options if one.dotted == "lr")
    splice = with_value(lr, 1e-4, run)
    assert splice is not None
    assert spliced(PARSER, [splice]) == PARSER.replace("3e-4", "0.0001")
    name = next(one for one in options if one.dotted == "name")
    splice = with_value(name, "sgd", run)
    assert splice is not None
    assert spliced(PARSER, [splice]) == PARSER.replace('"adam"', '"sgd"')
