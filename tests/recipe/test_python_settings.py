"""Python settings: computed as the frameworks that execute them compute them, and never executed."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings, read_settings_file
from stethoscope.recipe._files import Files
from stethoscope.recipe.python_settings import looks_like_settings
from stethoscope.run import Setting

RECORDED = Path(__file__).parent / "recorded" / "mmengine"
LOADED = json.loads((RECORDED / "loaded.json").read_text())


def flat(tree: object, key: str = "") -> dict[str, object]:
    if isinstance(tree, dict | list) and tree:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {k: v for name, below in items for k, v in flat(below, f"{key}.{name}").items()}
    return {key.removeprefix("."): tree}


def read(text: str) -> dict[str, Setting]:
    return {setting.dotted: setting for setting in read_settings(text, "config.py", "python")}


def read_path(path: Path) -> tuple[Setting, ...]:
    files = Files()
    return read_settings_file(files.read(path, str(path)), "python", files)


@pytest.mark.parametrize("name", LOADED)
def test_a_config_is_what_mmengine_loaded(name: str) -> None:
    settings = read_path(RECORDED / name)
    assert {s.dotted: s.value for s in settings} == flat(LOADED[name])
    assert all(setting.known for setting in settings)


@pytest.mark.parametrize("name", LOADED)
def test_the_text_in_a_span_is_the_text_of_its_file(name: str) -> None:
    for setting in read_path(RECORDED / name):
        text = Path(setting.where.file).read_text()
        if setting.span is not None:
            assert text[slice(*setting.span)] == setting.text
        assert setting.text.partition("\n")[0] in text.splitlines()[(setting.where.line or 0) - 1]


NANO = """\
# finetune
import time

out_dir = "out"
eval_interval = 5 * 1000
gradient_accumulation_steps = 5 * 8  # simulates larger batches
batch_size = 12
tokens = gradient_accumulation_steps * batch_size * 1024
wandb_run_name = "run" + str(time.time())
dtype = "bfloat16" if torch.cuda.is_available() else "float16"
learning_rate: float = 1e-4 * 8
learning_rate = 6e-4
"""


def test_assignments_are_settings_with_their_arithmetic() -> None:
    settings = read(NANO)
    assert {key: s.value for key, s in settings.items() if s.known} == {
        "out_dir": "out",
        "eval_interval": 5000,
        "gradient_accumulation_steps": 40,
        "batch_size": 12,
        "tokens": 40 * 12 * 1024,
        "learning_rate": 6e-4,
    }
    steps, tokens, rate = (
        settings[key] for key in ("gradient_accumulation_steps", "tokens", "learning_rate")
    )
    assert (steps.where.line, NANO[slice(*steps.span or ())]) == (6, "5 * 8")
    assert (tokens.span, [place.line for place in tokens.through]) == (None, [6, 7])
    assert [place.line for place in rate.replaces] == [11]


def test_what_would_have_to_be_executed_is_unknown() -> None:
    settings = read(NANO)
    assert [key for key, setting in settings.items() if not setting.known] == ["wandb_run_name", "dtype"]
    assert settings["dtype"].value == '"bfloat16" if torch.cuda.is_available() else "float16"'


def test_what_a_branch_may_change_is_unknown() -> None:
    text = "a = 1\nb = 2\nif ddp:\n    a = 5\nfor i in range(3):\n    b = i\nc = a\nd = 1\nif d:\n    d = 7\n"
    settings = read(text)
    assert {key: (s.value, s.known) for key, s in settings.items()} == {
        "a": ("a", False),
        "b": ("b", False),
        "c": ("a", False),
        "d": (7, True),
    }
    assert [place.line for place in settings["a"].replaces] == [1]


def test_classes_are_named_as_a_program_names_their_fields() -> None:
    text = (
        "from dataclasses import dataclass, field\n"
        "@dataclass\nclass Optim:\n    lr: float = 1e-3\n    betas: tuple = (0.9, 0.95)\n\n"
        "@dataclass\nclass Base:\n    seed: int = 1\n    name: str = field(default='x')\n\n"
        "@dataclass\nclass Train(Base):\n    optim: Optim = field(default_factory=Optim)\n"
        "    second: Optim = field(default_factory=lambda: Optim(lr=2e-3))\n"
        "    seed: int = 2\n    steps: int\n"
        "    tags: list = field(default_factory=list)\n"
    )
    settings = read(text)
    assert {key: s.value for key, s in settings.items()} == {
        "seed": 2,
        "name": "x",
        "optim.lr": 1e-3,
        "optim.betas.0": 0.9,
        "optim.betas.1": 0.95,
        "second.lr": 2e-3,
        "second.betas.0": 0.9,
        "second.betas.1": 0.95,
        "tags": [],
    }
    assert [place.line for place in settings["seed"].replaces] == [9]


def test_a_list_of_constants_and_a_dict_are_settings_by_themselves() -> None:
    assert {k: s.value for k, s in read("class CFG:\n    lr = 1e-3\n    epochs = 3 * 2\n").items()} == {
        "lr": 1e-3,
        "epochs": 6,
    }
    assert {
        k: s.value for k, s in read("config = {'lr': 1, 'net': {'dim': 4}}\nDEBUG = False\n").items()
    } == {
        "DEBUG": False,
        "lr": 1,
        "net.dim": 4,
    }


def test_a_function_that_returns_the_settings_is_followed(tmp_path: Path) -> None:
    (tmp_path / "configs" / "vp").mkdir(parents=True)
    (tmp_path / "configs" / "default.py").write_text(
        "import ml_collections\n\n"
        "def get_default_configs():\n  config = ml_collections.ConfigDict()\n"
        "  config.training = training = ml_collections.ConfigDict()\n  training.batch_size = 128\n"
        "  training.n_iters = 1300001\n  config.optim = optim = ml_collections.ConfigDict()\n"
        "  optim.lr = 2e-4\n"
        "  config.device = torch.device('cuda')\n  return config\n"
    )
    path = tmp_path / "configs" / "vp" / "cifar.py"
    path.write_text(
        "from configs.default import get_default_configs\n\n"
        "def get_config():\n  config = get_default_configs()\n"
        "  training = config.training\n  training.batch_size //= 2\n  config.training.sde = 'vpsde'\n"
        "  config.optim.lr = 1e-4\n  return config\n"
    )
    settings = {s.dotted: s for s in read_path(path)}
    assert {key: s.value for key, s in settings.items() if s.known} == {
        "training.batch_size": 64,
        "training.n_iters": 1300001,
        "training.sde": "vpsde",
        "optim.lr": 1e-4,
    }
    assert settings["optim.lr"].where.file == str(path)
    assert [Path(place.file).name for place in settings["optim.lr"].replaces] == ["default.py"]
    assert not settings["device"].known


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.py": "_base_ = 'b.py'\n", "b.py": "_base_ = ['a.py']\n"}, "builds on itself"),
        ({"a.py": "_base_ = 'a.py'\n"}, "builds on itself"),
        ({"a.py": "_base_ = 'gone.py'\n"}, "no such file"),
        ({"a.py": "_base_ = 'b.py'\n", "b.py": "x = (\n"}, "not valid Python"),
        ({"a.py": "_base_ = 'b\\0.py'\n"}, "no file name|null|no such"),
    ],
)
def test_bases_that_cannot_be_read_are_named(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UnreadableFile, match=reason):
        read_path(tmp_path / "a.py")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 100_000,
        "x = " + "(" * 150 + ")" * 150,
        "x = " + "1+" * 50_000 + "1",
        "x = " + "-" * 50_000 + "1",
        "x = 9**9**9**9",
        "x = 10**64**64",
        "x = 'a' * 10**9",
        "x = [0] * 10**9",
        "x = [1]\n" + "x = x + x\n" * 40,
        "x = 'a'\n" + "x = x + x\n" * 60,
        "x = 2\n" + "x = x * x\n" * 60,
        "x = dict(a=1)\n" + "x = dict(a=x, b=x)\n" * 60,
        "x.y.z = 1",
        "x = y\ny = x",
        "\0",
        "x = '\ud800'",
        "x = 1 if 1 else " * 3000 + "1",
        "class A(A): pass",
        "def get_config(): return get_config()",
        "f'{x!r:>{y}}'",
        "x = 1e999",
        "x = 1/0",
    ],
)
def test_hostile_texts_end(text: str) -> None:
    with contextlib.suppress(UnreadableFile):
        for setting in read_settings(text, "config.py", "python"):
            assert setting.where.line is not None
    looks_like_settings(text)


@given(st.text(alphabet=st.sampled_from("abx=+-*/()[]{}'\".,: \n#0159_e")))
def test_any_text_gives_settings_or_a_reason(text: str) -> None:
    with contextlib.suppress(UnreadableFile):
        read(text)


numbers = st.one_of(st.integers(-9, 9), st.sampled_from([0.5, 1e-3, 2.5]))
arithmetic = st.recursive(
    numbers.map(repr),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=6,
)


@given(arithmetic)
def test_arithmetic_is_pythons_own(expression: str) -> None:
    try:
        expected = eval(expression)  # of numbers and operators that this test wrote itself
    except ArithmeticError:
        assert not read(f"x = {expression}\n")["x"].known
        return
    assert read(f"x = {expression}\n")["x"].value == expected


@pytest.mark.parametrize(
    ("text", "is_settings"),
    [
        (NANO, True),
        ("_base_ = 'x.py'\nmodel = dict(depth=5)\n", True),
        ("class CFG:\n    lr = 1\n    wd = 2\n", True),
        ("def get_config():\n    return dict(lr=1)\n", True),
        ("lr = 1\nwd = 2\nfor x in loader:\n    loss.backward()\n    lr = 2\n", False),
        ("lr = 1\nwd = 2\ndef train():\n    pass\n", False),
        ("import torch\n", False),
        ("lr = 1\nwd = 2\nif __name__ == '__main__':\n    main()\n", False),
        ("class Net(nn.Module):\n    def forward(self, x):\n        return x\n", False),
        ("lr = (", False),
    ],
)
def test_a_file_of_settings_is_told_from_a_program(text: str, is_settings: bool) -> None:
    assert looks_like_settings(text) is is_settings
