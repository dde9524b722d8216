"""Which settings a run used where launchers, Hydra, Python files and parsers have a say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.run import Recipe
from stethoscope.signals import unknown_settings, unused_settings
from stethoscope.signals.missing import Missing

CSV = "step,loss\n0,0.9\n10,0.8\n20,0.7\n"
TRAIN = (
    "import argparse\n\nparser = argparse.ArgumentParser()\n"
    'parser.add_argument("--config")\n'
    'parser.add_argument("-b", "--batch-size", type=int, default=16)\n'
    'parser.add_argument("--lr", type=float, default=1e-3)\n'
    'parser.add_argument("--wd", type=float, default=0.1)\n'
    "args = parser.parse_args()\nloss.backward()\n"
)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        path = folder / f"{stem.replace('__', '/')}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def recipe(path: Path) -> Recipe:
    found = read(path).recipe
    assert found is not None
    return found


def told(found: Recipe, key: str) -> list[tuple[object, str, int | None]]:
    return [(s.value, os.path.basename(s.where.file), s.where.line) for s in found.layers(key)]


def test_the_command_line_wins_over_the_file_and_the_file_over_the_parser(tmp_path: Path) -> None:
    write(
        tmp_path,
        log_csv=CSV,
        train_py=TRAIN,
        run_sh="LR=3e-4\npython train.py --config configs/a.yaml \\\n  --lr $LR\n",
        configs__a_yaml="lr: 5e-4\nbatch_size: 32\n",
        configs__b_yaml="lr: 7\n",
    )
    found = recipe(tmp_path)
    assert told(found, "lr") == [(3e-4, "run.sh", 1), ("5e-4", "a.yaml", 1), (1e-3, "train.py", 6)]
    assert told(found, "batch_size") == [(32, "a.yaml", 2), (16, "train.py", 5)]
    assert told(found, "wd") == [(0.1, "train.py", 7)]
    assert [s.dotted for s in found.defaults] == ["wd"]
    assert [(os.path.basename(f.file), f.origin) for f in found.files] == [
        ("run.sh", "launcher"),
        ("a.yaml", "run"),
    ]
    rate = found.get("lr")
    assert rate is not None
    assert [place.line for place in rate.through] == [3]


def test_of_fifty_configs_the_launcher_names_one(tmp_path: Path) -> None:
    write(tmp_path, log_csv=CSV, run_sh="python train.py --config options/zz/c77.yaml\n")
    write(tmp_path, **{f"options__zz__c{n}_yaml": f"lr: {n}\n" for n in range(80)})
    assert [s.value for s in recipe(tmp_path).named("lr")] == [77]


def test_of_several_launchers_the_one_that_wrote_the_log_is_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        first_log="iter 0: loss 2.0\niter 1: loss 1.0\niter 2: loss 0.5\n",
        one_sh="python train.py --lr 1 > first.log\n",
        two_sh="python train.py --lr 2 | tee logs/second.log\n",
    )
    assert [s.value for s in recipe(tmp_path).named("lr")] == [1]


def test_of_several_launchers_without_a_sign_none_is_taken(tmp_path: Path) -> None:
    write(tmp_path, log_csv=CSV, one_sh="python train.py --lr 1\n", two_sh="python train.py --lr 2\n")
    assert read(tmp_path).recipe is None


def test_a_launcher_that_contradicts_what_was_recorded_is_not_the_one(tmp_path: Path) -> None:
    write(tmp_path, pyproject_toml="")
    write(tmp_path, launch__a_sh="python train.py --lr 0.5 --wd 0.1\n")
    write(tmp_path, launch__b_sh="python train.py --lr 2.5e-1 --wd 0.1 --name b\n")
    log = "Namespace(name='b_2024', lr=0.25, wd=0.1, epochs=3, batch_size=4, seed=1)\n" + "".join(
        f"epoch {n} loss {1 / (n + 1):.4f}\n" for n in range(6)
    )
    write(tmp_path, runs__x__train_log=log)
    found = recipe(tmp_path / "runs" / "x")
    launchers = [os.path.basename(f.file) for f in found.files if f.origin == "launcher"]
    assert launchers == ["b.sh"]


NANO = "learning_rate = 6e-4\nbatch_size = 5 * 8\n"


def test_a_python_config_that_the_log_names_is_taken(tmp_path: Path) -> None:
    log = "Overriding config with config/train_b.py:\n" + "".join(
        f"iter {n}: loss {3 - n / 10:.4f}, time 10.00ms\n" for n in range(5)
    )
    write(tmp_path, train_log=log, config__train_a_py=NANO, config__train_b_py=NANO.replace("6e-4", "1e-5"))
    found = recipe(tmp_path)
    assert [(s.dotted, s.value) for s in found] == [("learning_rate", 1e-5), ("batch_size", 40)]
    assert [f.syntax for f in found.files] == ["python"]


def test_the_positional_config_of_nanogpt_is_overridden_by_its_flags(tmp_path: Path) -> None:
    train = (
        "batch_size = 12\nlearning_rate = 6e-4\ngrad_clip = 1.0\nconfig_keys = [k for k in globals()]\n"
        "exec(open('configurator.py').read())\nloss.backward()\n"
    )
    write(
        tmp_path,
        log_csv=CSV,
        train_py=train,
        config__shakespeare_py="learning_rate = 1e-3\nbatch_size = 64\n",
        go_sh="python train.py config/shakespeare.py --batch_size=32\n",
    )
    found = recipe(tmp_path)
    assert told(found, "batch_size") == [(32, "go.sh", 1), (64, "shakespeare.py", 2), (12, "train.py", 1)]
    assert told(found, "learning_rate") == [(1e-3, "shakespeare.py", 1), (6e-4, "train.py", 2)]
    assert told(found, "grad_clip") == [(1.0, "train.py", 3)]


def test_training_code_is_not_taken_for_settings(tmp_path: Path) -> None:
    write(
        tmp_path, log_csv=CSV, config__train_py=TRAIN, configs__model_py="class Net:\n    def f(self): ...\n"
    )
    assert read(tmp_path).recipe is None or not recipe(tmp_path).files


HYDRA = {
    "conf__config_yaml": "defaults:\n  - optim: adam\n  - _self_\nseed: 1\n",
    "conf__optim__adam_yaml": "lr: 1e-3\nwd: ${seed}\n",
    "conf__optim__sgd_yaml": "lr: 0.1\n",
}


def test_a_hydra_tree_is_composed_with_what_the_launcher_overrides(tmp_path: Path) -> None:
    write(tmp_path, log_csv=CSV, go_sh="LR=2\npython main.py optim.lr=$LR\n", **HYDRA)
    found = recipe(tmp_path)
    assert {s.dotted: s.value for s in found} == {"optim.lr": 2, "optim.wd": 1, "seed": 1}
    rate = found.get("optim.lr")
    assert rate is not None
    assert (os.path.basename(rate.where.file), rate.where.line) == ("go.sh", 1)
    assert [os.path.basename(place.file) for place in rate.replaces] == ["adam.yaml"]


def test_a_config_of_a_hydra_tree_is_loaded_as_hydra_loads_it_wherever_it_is_read(tmp_path: Path) -> None:
    write(tmp_path, pyproject_toml="", plain__train_yaml="lr: 1e-3\n", **HYDRA)
    (alone,) = recipe(tmp_path / "conf" / "optim" / "adam.yaml").named("lr")
    assert alone.value == 1e-3
    (other,) = recipe(tmp_path / "plain" / "train.yaml").named("lr")
    assert other.value == "1e-3"


def test_the_record_of_a_hydra_run_is_what_ran(tmp_path: Path) -> None:
    write(tmp_path, pyproject_toml="", **HYDRA)
    run = tmp_path / "outputs" / "day"
    write(run, log_csv=CSV)
    (run / ".hydra").mkdir()
    (run / ".hydra" / "config.yaml").write_text("optim:\n  lr: 1e-4\n  wd: ${seed}\nseed: 1\n")
    (run / ".hydra" / "overrides.yaml").write_text("- optim.lr=1e-4\n")
    (run / ".hydra" / "hydra.yaml").write_text("hydra:\n  job:\n    config_name: config\n")
    found = recipe(run)
    first = found.settings[0]
    assert (first.dotted, first.value) == ("optim.lr", 1e-4)
    assert [os.path.basename(place.file) for place in first.through] == ["overrides.yaml"]
    record, *kept = found.files
    assert (record.maintained, record.note) == (False, "the command line set optim.lr")
    assert [os.path.basename(file.file) for file in kept] == ["config.yaml", "adam.yaml"]
    assert all(file.maintained and file.origin == "repository" for file in kept)
    weight = [s for s in found.named("wd") if s.where.file == kept[1].file]
    assert [(s.value, s.known) for s in weight] == [(1, True)]


def test_several_configs_on_one_command_line_are_joined_the_last_one_first(tmp_path: Path) -> None:
    write(
        tmp_path,
        log_csv=CSV,
        go_sh="python main.py fit --config a.yaml --config b.yaml --trainer.max_epochs 3\n",
        a_yaml="trainer: {max_epochs: 1, precision: 32}\nmodel: {class_path: Net, init_args: {lr: 1.0}}\n",
        b_yaml="trainer: {max_epochs: 2, devices: 2}\nmodel: {init_args: {lr: 2.0}}\n",
    )
    found = recipe(tmp_path)
    values = {key: found.get(key) for key in ("trainer.max_epochs", "trainer.devices", "model.init_args.lr")}
    assert {key: s.value for key, s in values.items() if s} == {
        "trainer.max_epochs": 3,
        "trainer.devices": 2,
        "model.init_args.lr": 2.0,
    }


@pytest.mark.parametrize("name", ["pyproject_toml", "Cargo_toml", "ruff_toml", "poetry_toml"])
def test_settings_of_other_tools_are_left_alone(tmp_path: Path, name: str) -> None:
    write(tmp_path, log_csv=CSV, **{name: "[tool]\na = 1\n"})
    assert read(tmp_path).recipe is None


def test_a_toml_beside_the_log_is_read(tmp_path: Path) -> None:
    write(tmp_path, log_csv=CSV, train_toml="[optimizer]\nlr = 8e-4\n")
    assert [(s.dotted, s.value) for s in recipe(tmp_path)] == [("optimizer.lr", 8e-4)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.yaml", b"\x00\x01\x02" * 50),
        ("train.toml", b"a = " + b"[" * 200_000),
        ("train_config.json", b"x" * 2_000_000),
        ("config.yaml", b"defaults:\n  - config\n"),
        ("config.json", b"[" * 100_000),
        ("go.sh", b"a=x\n" + b"a=$a$a\n" * 80 + b"python train.py --lr $a\n"),
    ],
)
def test_hostile_files_are_named_with_a_reason(tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path, log_csv=CSV)
    (tmp_path / name).write_bytes(content)
    run = read(tmp_path)
    assert run.recipe is None
    assert any(name in one.file or str(tmp_path) == one.file for one in run.unread)


def test_a_launchers_words_are_held_to_no_class_and_only_declared_ones_can_be_dead(tmp_path: Path) -> None:
    source = (
        "import argparse, yaml, torch\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--lr", type=float, default=1e-3)\n'
        'parser.add_argument("--grad_clip", type=float, default=0.0)\n'
        'parser.add_argument("--config")\n'
        "args = parser.parse_args()\ncfg = yaml.safe_load(open(args.config))\n"
        "net = torch.nn.Linear(cfg['width'], 1)\nopt = torch.optim.AdamW(net.parameters(), lr=args.lr)\n"
        "loss = net(torch.rand(2, cfg['width'])).mean()\nloss.backward()\nopt.step()\n"
    )
    go = "accelerate launch --mixed_precision bf16 train.py --config a.yaml --lr 1 --grad_clip 1.0\n"
    write(tmp_path, log_csv=CSV, train_py=source, a_yaml="width: 4\n", go_sh=go)
    run = read(tmp_path)
    assert isinstance(unknown_settings.measure(run), Missing)
    unused = unused_settings.measure(run)
    assert isinstance(unused, unused_settings.UnusedSettings)
    assert [(one.name, one.value, one.is_set) for one in unused.settings] == [("grad_clip", 1.0, True)]
