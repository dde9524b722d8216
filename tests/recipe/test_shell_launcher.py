"""Shell launchers: the words that bash itself passes, as settings with the lines they are written on."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings
from stethoscope.recipe._shell.commands import commands
from stethoscope.recipe.shell_launcher import trainings
from stethoscope.run import Setting

RECORDED = Path(__file__).parent / "recorded" / "shell"
CALLED: dict[str, list[list[str]]] = json.loads((RECORDED / "called.json").read_text())


def read(text: str) -> dict[str, Setting]:
    return {setting.dotted: setting for setting in read_settings(text, "run.sh", "shell")}


def values(text: str) -> dict[str, object]:
    return {key: setting.value for key, setting in read(text).items()}


@pytest.mark.parametrize("name", CALLED)
def test_the_words_of_a_command_are_those_that_bash_passed(name: str) -> None:
    programs = {call[0] for call in CALLED[name]}
    ours = [c for c in commands((RECORDED / name).read_text()) if c.arguments[0].text in programs]
    if name == "sweep.sh":
        assert [argument.known for argument in ours[0].arguments] == [True, True, True, False, True, True]
        return
    assert len(ours) == len(CALLED[name])
    for command, call in zip(ours, CALLED[name], strict=True):
        assert len(command.arguments) == len(call)
        for argument, word in zip(command.arguments, call, strict=True):
            assert argument.text == word or not argument.known


@pytest.mark.parametrize("name", CALLED)
def test_the_text_in_a_span_is_the_value_as_written(name: str) -> None:
    text = (RECORDED / name).read_text()
    for setting in read_settings(text, name, "shell"):
        if setting.span is not None:
            assert text[slice(*setting.span)] == setting.text
            assert setting.text in text.splitlines()[(setting.where.line or 0) - 1]


def test_a_value_stands_on_the_variables_line_and_names_the_line_that_uses_it() -> None:
    settings = read((RECORDED / "nano.sh").read_text())
    rate, size = settings["lr"], settings["batch_size"]
    assert (rate.value, rate.where.line, [place.line for place in rate.through]) == (3e-4, 4, [11])
    assert (size.value, size.span, size.where.line) == (16, None, 11)
    assert {place.line for place in size.through} == {6, 7}
    assert settings["warmup"].where.line == 8


def test_what_starts_the_training_has_settings_of_its_own() -> None:
    assert values((RECORDED / "accelerate.sh").read_text()) == {
        "accelerate.config_file": "acc.yaml",
        "accelerate.mixed_precision": "bf16",
        "accelerate.num_processes": 2,
        "accelerate.multi_gpu": True,
        "pretrained_model_name_or_path": "runwayml/stable-diffusion",
        "train_batch_size": 1,
        "gradient_accumulation_steps": 4,
        "gradient_checkpointing": True,
        "learning_rate": 5e-6,
        "lr_scheduler": "constant",
        "lr_warmup_steps": 0,
        "max_train_steps": 400,
    }
    assert values((RECORDED / "deepspeed.sh").read_text()) == {
        "deepspeed.num_gpus": 8,
        "deepspeed.master_port": 29500,
        "deepspeed": "ds.json",
        "per_device_train_batch_size": 4,
    }


def test_overrides_and_cluster_requests_are_settings() -> None:
    text = (RECORDED / "hydra.sh").read_text()
    found = values(text)
    assert found["sbatch.nodes"] == found["srun.nodes"] == 2
    assert (found["seed"], found["optim.lr"], found["trainer.devices"]) == (7, 1e-3, 8)
    (launch,) = trainings(text, "run.sh")
    assert launch.script == "project.train"
    assert [word.value for word in launch.words] == [
        "+experiment=long",
        "seed=7",
        "optim.lr=1e-3",
        "data.paths=[a,b]",
        "hydra.run.dir=out/7",
        "~scheduler",
        "trainer.devices=8",
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("python train.py --lr $LR", "lr"),
        ("python train.py --lr $1", "lr"),
        ("python train.py --lr $(cat lr)", "lr"),
        ("python train.py --lr `cat lr`", "lr"),
        ("LR=1\nif x; then LR=2; fi\npython train.py --lr $LR", "lr"),
        ("if x; then LR=2; else LR=3; fi\npython train.py --lr $LR", "lr"),
        ("for LR in 1 2; do python train.py --lr $LR; done", "lr"),
        ("read LR\npython train.py --lr $LR", "lr"),
        ("LR=a\npython train.py --lr ${LR%a}", "lr"),
        ("python train.py --lr $((N * 2))", "lr"),
    ],
)
def test_what_only_a_shell_knows_is_unknown(text: str, key: str) -> None:
    assert not read(text)[key].known


def test_a_branch_sees_what_it_set_itself() -> None:
    text = "if x; then\n  LR=2\n  python train.py --lr $LR\nelse\n  echo none\nfi\n"
    assert values(text) == {"lr": 2}


def test_several_trainings_are_no_one_training() -> None:
    text = "python train.py --lr 1\npython train.py --lr 2\n"
    assert read(text) == {}
    assert len(trainings(text, "run.sh")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "pip install -r requirements.txt",
        "git commit -m train.py",
        "echo python train.py --lr 1",
        "vim train.py",
        "python -c 'import torch; print(1)' train.py",
        "python eval.py --lr 1",
        "python tools/download_data.py --n 3",
        "cp train.py out/",
    ],
)
def test_commands_that_train_nothing_give_nothing(text: str) -> None:
    assert read(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "CMD='python train.py --lr 1'\n$CMD",
        "uv run train.py --lr 1",
        "CUDA_VISIBLE_DEVICES=0 nohup python -u ./train.py --lr=1 > log 2>&1 &",
        "poetry run python src/train.py --lr 1",
        "python3.11 -m pkg.train --lr 1",
        "python -m torch.distributed.launch --nproc_per_node 2 train.py --lr 1",
        "( cd x && time python train.py --lr 1 )",
        "train() {\n  python train.py --lr 1\n}\ntrain",
        "mpirun -np 4 python train.py --lr 1",
        "conda run -n env python train.py --lr 1",
    ],
)
def test_a_training_is_found_however_it_is_started(text: str) -> None:
    assert read(text)["lr"].value == 1


@pytest.mark.parametrize(
    "hostile",
    [
        "a=x\n" + "a=$a$a\n" * 60,
        "A=(x x x x)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40,
        "python train.py --lr " + "${A:-" * 20_000,
        "$(" * 50_000,
        '"' * 99_999,
        "((((" * 20_000,
        "if " * 50_000,
        "cat <<EOF\n" * 10_000,
        "python train.py " + "--a 1 " * 30_000,
        "x=$((" + "1+" * 50_000 + "1))",
        "\\\n" * 100_000,
    ],
)
def test_hostile_scripts_end(hostile: str) -> None:
    with contextlib.suppress(UnreadableFile):
        read(hostile)


@example("python train.py --a $")
@example("A=(\npython train.py --lr ${A[@]}")
@example("python train.py '")
@given(st.text(alphabet=st.one_of(st.sampled_from("ab=$(){}[]\"'\\`;|&<>#-+~@ \n\t01.,:"), st.characters())))
def test_any_text_gives_settings_or_a_reason(text: str) -> None:
    for script in (text, f"A={text}\npython train.py {text} --lr $A\n"):
        with contextlib.suppress(UnreadableFile):
            for setting in read_settings(script, "run.sh", "shell"):
                assert setting.where.line is not None
                if setting.span is not None:
                    assert script[slice(*setting.span)] == setting.text
