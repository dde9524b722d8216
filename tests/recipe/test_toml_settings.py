"""TOML settings: the same values as `tomllib` gives, each with its line and span."""

from __future__ import annotations

import contextlib
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings
from stethoscope.run import Setting

TORCHTITAN = """\
# torchtitan Config.toml
[job]
dump_folder = "./outputs"

[model]
name = "llama3"

[optimizer]
name = "AdamW"
lr = 8e-4  # peak
eps = 1e-8

[lr_scheduler]
warmup_steps = 2_000

[training]
local_batch_size = 8
seq_len = 2048
max_norm = 1.0
steps = 10000

[activation_checkpoint]
mode = "selective"

[experimental]

[[dataset.parts]]
name = "c4"
weights = [0.5,
  0.25, # half
]
[[dataset.parts]]
name = 'wiki'
opts = {shuffle = true, "seed" = 7, nested.deep = []}
[dataset.parts.last]
x = 1
"""


def read(text: str) -> dict[str, Setting]:
    return {setting.dotted: setting for setting in read_settings(text, "train.toml", "toml")}


def flat(tree: object, key: str = "") -> dict[str, object]:
    if isinstance(tree, dict | list) and tree:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {k: v for name, below in items for k, v in flat(below, f"{key}.{name}").items()}
    return {key.removeprefix("."): tree}


def test_the_settings_are_what_tomllib_loads() -> None:
    settings = read(TORCHTITAN)
    assert {key: setting.value for key, setting in settings.items()} == flat(tomllib.loads(TORCHTITAN))


def test_every_value_has_its_line_and_span() -> None:
    settings = read(TORCHTITAN)
    rate = settings["optimizer.lr"]
    assert (rate.value, rate.text, rate.where.line) == (8e-4, "8e-4", 10)
    assert TORCHTITAN[slice(*rate.span or ())] == "8e-4"
    assert settings["dataset.parts.0.weights.1"].where.line == 30
    assert settings["dataset.parts.1.last.x"].where.line == 36
    assert settings["experimental"].value == {}


def test_the_first_line_moves_every_address() -> None:
    assert [s.where.line for s in read_settings("a = 1\nb = 2\n", "x.log", "toml", first_line=7)] == [7, 8]


@pytest.mark.parametrize(
    "hostile",
    [
        "a = " + "[" * 100_000,
        "a = " + "{b = " * 50_000,
        ".".join(["a"] * 100_000) + " = 1",
        "[" + ".".join(["a"] * 100_000) + "]",
        "a = " + "1" * 100_000,
        "a = [" + "1," * 100_000 + "]",
        'a = """' + '"' * 100_000,
        "a = 1\na = 2",
        "[a\nb = 1",
        "a = 1 b = 2",
        "a = 2020-99-99",
        "\0\x01",
        "= 1",
        "a",
    ],
)
def test_hostile_texts_are_refused_in_one_line(hostile: str) -> None:
    with pytest.raises(UnreadableFile, match=r"^train.toml: ") as refused:
        read(hostile)
    assert len(str(refused.value)) < 200


@example("a.b.c = 1\n[a.d]\ne = 1\n")
@example("[[a]]\n[[a.b]]\nc=1\n[[a]]\n[[a.b]]\nc=2\n")
@example("[a]\nb.c = 1\n[[d.e]]\n")
@example("a = 1979-05-27 07:32:00\n")
@given(st.text(alphabet="ab=[]{}.\"'#, \n\\019-:T+e_tru"))
def test_any_text_gives_settings_exactly_when_it_is_toml(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError):
        with pytest.raises(UnreadableFile):
            read(text)
        return
    assert {key: s.value for key, s in read(text).items()} == (flat(expected) if expected else {})


@given(st.text())
def test_any_text_gives_settings_or_a_reason(text: str) -> None:
    with contextlib.suppress(UnreadableFile):
        read(text)
