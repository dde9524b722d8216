"""The tables that are written from the frameworks' releases, and what they say about a name."""

from __future__ import annotations

import json

import pytest

from stethoscope.recipe.schemas import Standing, called, number, table
from stethoscope.recipe.schemas._table import RENAMED, TABLES

NAMES = sorted(path.stem for path in TABLES.glob("*.json"))


def standing(call: str, name: str, **versions: str) -> Standing:
    record = called(call)
    assert record is not None, call
    numbers = {package.replace("_", "-"): number(version) for package, version in versions.items()}
    return record.standing(name, numbers)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_where_it_comes_from_and_orders_its_releases(name: str) -> None:
    content = json.loads((TABLES / f"{name}.json").read_text(encoding="utf-8"))
    made = table(name)
    assert made.framework
    assert made.package in content["generated_from"]
    assert list(made.versions) == sorted(made.versions, key=number)
    assert made.records


@pytest.mark.parametrize("name", NAMES)
def test_every_span_of_a_name_begins_and_ends_with_a_release_of_the_table(name: str) -> None:
    made = table(name)
    for record in made.records.values():
        for entry in record.names.values():
            assert {entry.since, entry.until} <= {"", *made.versions}


@pytest.mark.parametrize("name", sorted(RENAMED))
def test_what_a_name_is_called_instead_is_taken_by_the_newest_release(name: str) -> None:
    taken = {new for record in table(name).records.values() for new in record.taken({})}
    assert set(RENAMED[name].values()) <= taken


def test_a_name_is_known_from_its_first_to_its_last_release() -> None:
    arguments = "transformers.TrainingArguments"
    assert standing(arguments, "evaluation_strategy", transformers="4.40.0") is Standing.KNOWN
    assert standing(arguments, "evaluation_strategy", transformers="5.0.0") is Standing.GONE
    assert standing(arguments, "evaluation_strategy") is Standing.GONE
    assert standing(arguments, "eval_strategy", transformers="4.30.0") is Standing.LATER
    assert standing(arguments, "eval_strategy") is Standing.KNOWN
    assert standing(arguments, "evaluation_stragety") is Standing.NEVER


def test_a_patch_of_a_minor_version_is_that_version() -> None:
    assert standing("torch.utils.data.DataLoader", "in_order", torch="2.6.1") is Standing.KNOWN
    assert standing("torch.utils.data.DataLoader", "in_order", torch="2.5.9") is Standing.LATER


def test_a_release_newer_than_the_table_is_taken_for_the_newest() -> None:
    assert standing("torch.optim.AdamW", "lr", torch="99.0") is Standing.KNOWN
    assert standing("torch.optim.lr_scheduler.StepLR", "verbose", torch="99.0") is Standing.GONE


def test_a_class_that_comes_later_says_nothing_about_its_names() -> None:
    assert standing("torch.optim.Muon", "lr", torch="2.0.0") is Standing.KNOWN


def test_a_config_of_trl_takes_what_training_arguments_take() -> None:
    assert standing("trl.SFTConfig", "packing") is Standing.KNOWN
    assert standing("trl.SFTConfig", "per_device_train_batch_size") is Standing.KNOWN
    assert standing("trl.SFTConfig", "evaluation_strategy", transformers="4.40.0") is Standing.KNOWN
    assert standing("trl.SFTConfig", "per_device_batch") is Standing.NEVER


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("torch.optim.SGD", "params lr momentum dampening weight_decay nesterov maximize foreach fused"),
        ("torch.optim.lr_scheduler.OneCycleLR", "optimizer max_lr total_steps epochs pct_start div_factor"),
        ("torch.nn.utils.clip_grad_norm_", "parameters max_norm norm_type error_if_nonfinite foreach"),
        ("torch.autocast", "device_type dtype enabled cache_enabled"),
        ("torch.nn.CrossEntropyLoss", "weight ignore_index reduction label_smoothing"),
        ("transformers.Trainer", "model args train_dataset eval_dataset compute_metrics callbacks"),
        ("lightning.Trainer", "max_epochs devices strategy precision accumulate_grad_batches"),
        ("lightning.pytorch.Trainer", "max_steps limit_train_batches"),
        ("pytorch_lightning.callbacks.ModelCheckpoint", "monitor mode save_top_k every_n_train_steps"),
        ("accelerate.Accelerator", "mixed_precision gradient_accumulation_steps log_with project_dir"),
        ("accelerate.utils.ProjectConfiguration", "project_dir total_limit"),
        ("mmengine.optim.LinearLR", "start_factor begin end by_epoch"),
        ("ultralytics.YOLO().train", "data epochs imgsz batch device lr0 trainer"),
    ],
)
def test_names_that_people_use_every_day_are_known(call: str, names: str) -> None:
    assert {name for name in names.split() if standing(call, name) is not Standing.KNOWN} == set()


def test_a_constructor_that_takes_any_keyword_knows_every_name() -> None:
    assert standing("mmengine.hooks.CheckpointHook", "whatever") is Standing.KNOWN


def test_something_that_is_in_no_table_is_not_known() -> None:
    assert called("torch.nn.Linear") is None
    assert called("numpy.zeros") is None
    assert called("") is None
