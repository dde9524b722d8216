"""Hydra trees: composed as Hydra itself composed them, each value with its own file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.errors import UnreadableFile
from stethoscope.recipe.hydra import compose
from stethoscope.recipe.hydra_overrides import Override, overrides_of
from stethoscope.run import Setting, Where

RECORDED = Path(__file__).parent / "recorded" / "hydra"


def flat(tree: object, key: str = "") -> dict[str, object]:
    if isinstance(tree, dict | list) and tree:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {k: v for name, below in items for k, v in flat(below, f"{key}.{name}").items()}
    return {key.removeprefix("."): tree}


def overrides(*words: str) -> tuple[Override, ...]:
    return tuple(overrides_of(Setting((), word, Where("command line"), word) for word in words))


def recorded_cases() -> list[tuple[Path, dict[str, object]]]:
    files = sorted(RECORDED.glob("*/cases.json"))
    return [(file.parent / "conf", case) for file in files for case in json.loads(file.read_text())]


@pytest.mark.parametrize(
    ("conf", "case"),
    recorded_cases(),
    ids=[f"{conf.parent.name}-{case['name']}-{case['overrides']}" for conf, case in recorded_cases()],
)
def test_a_tree_is_composed_as_hydra_composed_it(conf: Path, case: dict[str, object]) -> None:
    given = overrides(*case["overrides"])  # type: ignore[misc]
    composed = compose(conf, "conf", str(case["name"]), given)
    assert {s.dotted: s.value for s in composed.settings} == flat(case["composed"])
    assert all(setting.known for setting in composed.settings)


@pytest.mark.parametrize("conf", sorted(RECORDED.glob("*/conf")), ids=lambda conf: conf.parent.name)
def test_the_text_in_a_span_is_the_text_of_its_file(conf: Path) -> None:
    name = "config" if (conf / "config.yaml").exists() else "train"
    for setting in compose(conf, "conf", name).settings:
        text = (conf.parent / setting.where.file).read_text()
        assert setting.where.line is not None
        if setting.span is not None:
            assert text[slice(*setting.span)].strip("'\"") in (setting.text, str(setting.value))
            assert setting.text in text.splitlines()[setting.where.line - 1]


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_value_stands_in_the_file_that_gave_it_and_names_those_it_replaces(tmp_path: Path) -> None:
    conf = tree(
        tmp_path, config="defaults: [optim: adam, _self_]\noptim:\n  lr: 2\n", optim__adam="wd: 0\nlr: 1\n"
    )
    (rate,) = [s for s in compose(conf, "conf", "config").settings if s.dotted == "optim.lr"]
    assert (rate.value, str(rate.where)) == (2, "conf/config.yaml:3")
    assert [str(place) for place in rate.replaces] == ["conf/optim/adam.yaml:2"]
    (rate,) = [s for s in compose(conf, "conf", "config", overrides("optim.lr=3")).settings if s.leaf == "lr"]
    assert (rate.value, rate.where.file) == (3, "command line")
    assert [str(place) for place in rate.replaces] == ["conf/config.yaml:3", "conf/optim/adam.yaml:2"]


@pytest.mark.parametrize(
    "text",
    [
        "${oc.env:HOME}",
        "${oc.env:HOME,/tmp}",
        "${now:%Y}",
        "${hydra:runtime.cwd}",
        "${eval:1+1}",
        "${nothing.there}",
        "a_${lr",
        "${value}",
        "${loop.a}",
        "x${oc.env:A}",
    ],
)
def test_what_only_the_run_knew_is_unknown(tmp_path: Path, text: str) -> None:
    conf = tree(tmp_path, config=f'value: "{text}"\nlr: 1\nloop: {{a: "${{loop.b}}", b: "${{loop.a}}"}}\n')
    found = {s.dotted: s for s in compose(conf, "conf", "config").settings}
    assert (found["value"].known, found["value"].value) == (False, text)
    assert found["lr"].known


@pytest.mark.parametrize(
    "word", ["lr=1,2", "lr=choice(1,2)", "lr=range(1,5)", "lr=[1", "lr={a:1", "lr=" + "[" * 10_000]
)
def test_a_sweep_has_no_one_value(tmp_path: Path, word: str) -> None:
    conf = tree(tmp_path, config="lr: 5\n")
    (rate,) = compose(conf, "conf", "config", overrides(word)).settings
    assert not rate.known


def test_a_config_that_is_not_there_is_named(tmp_path: Path) -> None:
    conf = tree(
        tmp_path, config="defaults: [base_schema, optim: adam, data: '???', optional x: y, _self_]\nlr: 1\n"
    )
    composed = compose(conf, "conf", "config")
    assert composed.missing == ("data=???", "optim/adam", "base_schema")
    assert [setting.dotted for setting in composed.settings] == ["lr"]


@pytest.mark.parametrize(
    "files",
    [
        {"config": "defaults: [a]\n", "a": "defaults: [b]\n", "b": "defaults: [a]\n"},
        {"config": "defaults: [config]\n"},
        {"config": "defaults: [g: a]\n", "g__a": "defaults: [/g: a]\n"},
    ],
)
def test_defaults_that_lead_back_to_themselves_are_refused(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(UnreadableFile, match="lead back to"):
        compose(tree(tmp_path, **files), "conf", "config")


def test_references_that_multiply_end(tmp_path: Path) -> None:
    texts = "\n".join(f"t{n}: ${{t{n + 1}}}${{t{n + 1}}}" for n in range(40)) + "\nt40: x\n"
    sections = (
        "\n".join(f"s{n}: {{a: '${{s{n + 1}}}', b: '${{s{n + 1}}}'}}" for n in range(30)) + "\ns30: {x: 1}\n"
    )
    found = compose(tree(tmp_path, config=texts), "conf", "config").settings
    assert not found[0].known
    with pytest.raises(UnreadableFile, match="more than any settings"):
        compose(tree(tmp_path, config=sections), "conf", "config")


def test_a_config_outside_the_tree_is_not_opened(tmp_path: Path) -> None:
    tree(tmp_path, secret="password: 1\n", conf__config="defaults: [../secret, g@x: ../../secret]\nlr: 1\n")
    composed = compose(tmp_path / "conf", "conf", "config", overrides("../secret=1"))
    assert "password" not in {setting.leaf for setting in composed.settings}
