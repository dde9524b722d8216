"""JSON settings: the same values as `json` gives, each with its line and span."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings

leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12))
trees = st.recursive(
    leaves,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=5), below, max_size=4),
    max_leaves=15,
)


def test_every_value_has_its_line_and_span() -> None:
    text = '{\n  "lr": 1e-4,\n  "betas": [0.9,\n    0.99],\n  "tags": [], "model": {"type": "x"}\n}\n'
    settings = read_settings(text, "args.json", "json")
    assert [(s.dotted, s.value, s.where.line) for s in settings] == [
        ("lr", 1e-4, 2),
        ("betas.0", 0.9, 3),
        ("betas.1", 0.99, 4),
        ("tags", [], 5),
        ("model.type", "x", 5),
    ]


@given(trees, st.sampled_from([None, 0, 2]), st.booleans())
def test_the_text_in_a_span_is_the_value(tree: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    settings = read_settings(text, "args.json", "json")
    for setting in settings:
        assert setting.span is not None
        assert json.loads(text[slice(*setting.span)]) == setting.value
    assert len(settings) == _leaves(tree)


def _leaves(tree: object) -> int:
    if isinstance(tree, dict) and tree:
        return sum(map(_leaves, tree.values()))
    if isinstance(tree, list) and tree:
        return sum(map(_leaves, tree))
    return 1


@given(st.text(alphabet='{}[]":,0123456789truefalsn\\ \n-+.eE'))
def test_any_text_gives_settings_exactly_when_it_is_json(text: str) -> None:
    assert _is_read(text) == _is_json(text)


def _is_read(text: str) -> bool:
    try:
        read_settings(text, "args.json", "json")
    except UnreadableFile:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "hostile", ["[" * 100_000, '{"a":' * 5_000, "1" * 10_000, '{"a": 1', "", "{} x", '{"a" 1}']
)
def test_hostile_texts_are_refused_with_a_line(hostile: str) -> None:
    with pytest.raises(UnreadableFile, match=r"^args.json: "):
        read_settings(hostile, "args.json", "json")


def test_a_key_set_twice_counts_once_and_is_noted() -> None:
    text = '{"lr": 1,\n"a": {"b": 1, "b": 2},\n"lr": 3,\n"a": {"c": 4, "c": 5}}'
    settings = {s.dotted: s for s in read_settings(text, "args.json", "json")}
    assert {key: s.value for key, s in settings.items()} == {"lr": 3, "a.c": 5}
    assert [place.line for place in settings["lr"].replaces] == [1]
    assert [place.line for place in settings["a.c"].replaces] == [4, 2]


def test_a_deepspeed_config_keeps_what_it_leaves_to_others() -> None:
    text = '{"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": true, "loss_scale": 0}}'
    assert [(s.dotted, s.value) for s in read_settings(text, "ds_config.json", "json")] == [
        ("train_micro_batch_size_per_gpu", "auto"),
        ("fp16.enabled", True),
        ("fp16.loss_scale", 0),
    ]
