"""YAML settings: values as PyYAML loads them, each with its line and span."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings, read_settings_file, syntax_of
from stethoscope.recipe._files import Files
from stethoscope.run import Setting


def read(text: str) -> dict[str, Setting]:
    return {setting.dotted: setting for setting in read_settings(text, "train.yml", "yaml")}


def values(text: str) -> dict[str, object]:
    return {key: setting.value for key, setting in read(text).items()}


def test_every_value_has_its_line_and_span() -> None:
    text = "name: nano\ntrain:\n  lr: 0.1  # high\n  betas: [0.9, 0.99]\n"
    settings = read(text)
    assert settings["train.lr"].where.line == 3
    assert [text[slice(*setting.span)] for setting in settings.values() if setting.span] == [
        "nano",
        "0.1",
        "0.9",
        "0.99",
    ]
    assert settings["train.betas.1"].leaf == "betas"


@pytest.mark.parametrize(
    ("written", "loaded"),
    [
        ("1e-6", "1e-6"),
        ("1.0e-6", 1e-6),
        ("1.0e6", "1.0e6"),
        ("!!float 1e-6", 1e-6),
        ("!!float abc", "abc"),
        ("!!int 99999999999999999999", 99999999999999999999),
        ("on", True),
        ("~", None),
        ("", None),
        ("1_000", 1000),
        ("'5'", "5"),
        ("!reference 5", 5),
        ("!!python/object/apply:os.system ls", "ls"),
        ("2001-99-99", "2001-99-99"),
        ("{}", {}),
        ("[]", []),
    ],
)
def test_a_value_is_what_pyyaml_makes_of_it(written: str, loaded: object) -> None:
    assert values(f"key: {written}\n") == {"key": loaded}


def test_only_bare_scalars_are_plain() -> None:
    settings = read("a: 1e-6\nb: '1e-6'\nc: !!float 1e-6\nd: |\n  1e-6\n")
    assert [key for key, setting in settings.items() if setting.plain] == ["a"]


def test_the_span_keeps_the_anchor_and_takes_the_tag() -> None:
    text = "a: &lr !!float 1e-6\nb: !!float &eps 1e-8\nc: *lr\n"
    settings = read(text)
    assert text[slice(*settings["a"].span or ())] == "!!float 1e-6"
    assert settings["c"].value == 1e-6
    assert settings["c"].where.line == 3


def test_an_alias_and_a_merge_stand_where_they_are_used() -> None:
    text = "base: &base {lr: 1, wd: 2}\ng:\n  <<: *base\n  wd: 3\nd: *base\n"
    settings = read(text)
    assert values(text) == {"base.lr": 1, "base.wd": 2, "g.wd": 3, "g.lr": 1, "d.lr": 1, "d.wd": 2}
    assert settings["g.lr"].where.line == 3
    assert settings["d.wd"].where.line == 5
    assert settings["g.lr"].span is None


def test_merges_of_merges_and_lists_of_merges() -> None:
    text = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: &c {x: 9, z: 3}\nd: {<<: [*b, *c]}\n"
    assert {key: value for key, value in values(text).items() if key.startswith("d.")} == {
        "d.x": yaml.safe_load(text)["d"]["x"],
        "d.y": 2,
        "d.z": 3,
    }


def test_a_key_set_twice_counts_once_and_is_noted() -> None:
    setting = read("lr: 1\nwd: 0\nlr: 2\n")["lr"]
    assert (setting.value, setting.where.line, [place.line for place in setting.replaces]) == (2, 3, [1])


def test_keys_that_are_no_strings() -> None:
    assert values("1: a\ntrue: b\n[x, y]: c\n{a: 1}: d\n? k\n") == {
        "1": "a",
        "true": "b",
        "[x, y]": "c",
        "{a: 1}": "d",
        "k": None,
    }


def test_several_documents_follow_each_other() -> None:
    assert values("a: 1\n---\nb: 2\n...\n---\n- 3\n") == {"a": 1, "b": 2, "0": 3}


def test_the_first_line_moves_every_address() -> None:
    settings = read_settings("a: 1\nb: 2\n", "run.log", "yaml", first_line=40)
    assert [setting.where.line for setting in settings] == [40, 41]


def test_aliases_that_multiply_are_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    began = time.monotonic()
    with pytest.raises(UnreadableFile, match="holds more than 20,000 values"):
        read("\n".join(lines))
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "hostile",
    [
        "a: &a [*a]",
        "a: &a {b: *a, c: 1}",
        "a: &a {<<: *a, c: 1}",
        "- " * 50_000 + "x",
        "[" * 50_000,
        "a: *nothing",
    ],
)
def test_hostile_texts_end(hostile: str) -> None:
    began = time.monotonic()
    with contextlib.suppress(UnreadableFile):
        read(hostile)
    assert time.monotonic() - began < 5


def test_a_foreign_tag_on_a_list_or_mapping_is_passed_over() -> None:
    text = "betas: !!python/tuple [0.9, 0.99]\nnet: !!python/object:os.system {dim: 4}\nlr: &lr 1.0e-3\n"
    assert values(text) == {"betas.0": 0.9, "betas.1": 0.99, "net.dim": 4, "lr": 1e-3}


def read_path(path: Path) -> dict[str, Setting]:
    files = Files()
    settings = read_settings_file(files.read(path, str(path)), "yaml", files)
    return {setting.dotted: setting for setting in settings}


def test_a_file_stands_on_its_base_files(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("SOLVER: {BASE_LR: 0.02, STEPS: [1, 2]}\nAMP: true\n")
    (tmp_path / "mask.yaml").write_text("_BASE_: base.yaml\nSOLVER: {BASE_LR: 0.01}\n")
    settings = read_path(tmp_path / "mask.yaml")
    assert {key: s.value for key, s in settings.items()} == {
        "SOLVER.BASE_LR": 0.01,
        "SOLVER.STEPS.0": 1,
        "SOLVER.STEPS.1": 2,
        "AMP": True,
    }
    assert [str(p) for p in settings["SOLVER.BASE_LR"].replaces] == [f"{tmp_path / 'base.yaml'}:1"]


def test_references_are_followed_and_unknown_ones_said_so(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("seed: 3\nname: run_${seed}\nhome: ${HOME}/x\nagain: ${seed}\n")
    settings = read_path(tmp_path / "a.yaml")
    assert [(s.value, s.known) for s in settings.values()] == [
        (3, True),
        ("run_3", True),
        ("${HOME}/x", False),
        (3, True),
    ]
    assert [place.line for place in settings["again"].through] == [1]


@pytest.mark.parametrize("base", ["a.yaml", "b.yaml", "gone.yaml", "'../../../../../../etc'", "'\\0'"])
def test_base_files_that_cannot_be_read_are_named(tmp_path: Path, base: str) -> None:
    (tmp_path / "a.yaml").write_text(f"_BASE_: {base}\nlr: 1\n")
    (tmp_path / "b.yaml").write_text("_BASE_: [a.yaml]\n")
    with pytest.raises(UnreadableFile):
        read_path(tmp_path / "a.yaml")


def test_what_is_wrong_is_said_in_one_line() -> None:
    with pytest.raises(
        UnreadableFile, match=r"^train.yml: not valid YAML: line 2: .*tab|^train.yml: .*line 2"
    ):
        read("a: 1\n\tb: 2\n")


@example("a: 1\r\nb: 2")
@example("\ufeffa: 1")
@example("a: \U0001f600é # ü\nb: 'é'")
@example("a: !<!> x\n%TAG")
@example("\ud800")
@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("ab:-[]{}&*!|>'\"#%@`? \n\t,<.~0123456789eE+_"), st.characters())
    )
)
def test_any_text_gives_settings_or_a_reason(text: str) -> None:
    try:
        settings = read_settings(text, "train.yml", "yaml")
    except UnreadableFile:
        return
    for setting in settings:
        assert setting.where.line is not None


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12),
)
keys = st.text("abcdefgh_", min_size=1, max_size=6)
trees = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(keys, below, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(keys, trees, max_size=5), st.booleans(), st.booleans())
def test_the_text_in_a_span_is_the_value(tree: dict[str, object], flow: bool, ascii_only: bool) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=not ascii_only)
    settings = read_settings(text, "train.yml", "yaml")
    for setting in settings:
        assert setting.value == _at(tree, setting.key)
        if setting.span is not None and not setting.text.startswith("*"):
            assert yaml.safe_load(text[slice(*setting.span)]) == setting.value


def _at(tree: object, key: tuple[str | int, ...]) -> object:
    for part in key:
        tree = tree[part]  # type: ignore[index]
    return tree


def test_names_announce_the_syntax() -> None:
    assert [syntax_of(name) for name in ("a.yml", "a.YAML", "a.json", "a.toml", "a.bin")] == [
        "yaml",
        "yaml",
        "json",
        "toml",
        None,
    ]


def test_a_value_has_its_column_in_every_format() -> None:
    for syntax, text in (
        ("yaml", "a:\n  lr: 12  # x\n"),
        ("toml", "[a]\nlr = 12\n"),
        ("json", '{\n "lr": 12}'),
    ):
        (setting,) = read_settings(text, "f", syntax)
        line = text.split("\n")[1]
        start = line.index("12") + 1
        assert (setting.where.line, setting.where.column, setting.where.end) == (2, start, (2, start + 2))
