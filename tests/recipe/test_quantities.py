"""What settings ask for, whatever they are called."""

from __future__ import annotations

import pytest

from stethoscope.recipe import read_settings
from stethoscope.recipe.quantities import asked_for, precision, quantities
from stethoscope.run import Recipe


def recipe(text: str) -> Recipe:
    return Recipe(read_settings(text, "a.yml", "yaml"))


def amounts(text: str, quantity: str) -> list[tuple[object, str, str]]:
    asked = asked_for(recipe(text))[quantity]
    return [(one.amount.value, one.amount.unit, one.amount.part) for one in asked]


@pytest.mark.parametrize(
    ("text", "quantity", "expected"),
    [
        ("learning_rate: 3e-4", "learning rate", (3e-4, "", "")),
        ("train: {optim_g: {lr: 0.0002}}", "learning rate", (2e-4, "", "")),
        ("optimizer: {init_args: {lr: 0.1}}", "learning rate", (0.1, "", "")),
        ("lr0: 0.01", "learning rate", (0.01, "", "")),
        ("TRAIN: {BASE_LR: 0.001}", "learning rate", (0.001, "", "base")),
        ("per_device_train_batch_size: 8", "batch per device", (8, "", "device")),
        ("train_micro_batch_size_per_gpu: 8", "batch per device", (8, "", "device")),
        ("data: {batch_size: 4}", "batch per device", (4, "", "")),
        ("trainer: {accumulate_grad_batches: 4}", "accumulation", (4, "", "")),
        ("accum_iter: 2", "accumulation", (2, "", "")),
        ("update_freq: [16]", "accumulation", None),
        ("nproc_per_node: 8", "processes", (8, "", "per node")),
        ("devices: [0, 1]", "processes", (2, "", "per node")),
        ("devices: auto", "processes", None),
        ("global_batch_size: 512", "effective batch", (512, "", "")),
        ("warmup_ratio: 0.03", "warm-up", (0.03, "share", "")),
        ("num_warmup_steps: 500", "warm-up", (500.0, "step", "")),
        ("steps_per_epoch: 1000", "length of an epoch", (1000.0, "step", "")),
        ("val: {steps_per_epoch: 10}", "length of an epoch", None),
        ("lr_warmup_steps: 500", "warm-up", (500.0, "step", "")),
        ("warmup_lr: 0.001", "warm-up", None),
        ("lr_scheduler: {warmup_epochs: 5}", "warm-up", (5.0, "epoch", "")),
        ("t_warmup: 100ba", "warm-up", (100.0, "step", "")),
        ("warmup_momentum: 0.8", "warm-up", None),
        ("max_duration: 10ep", "length of the run", (10.0, "epoch", "")),
        ("total_iter: 40000", "length of the run", (40000.0, "step", "")),
        ("num_train_epochs: 3", "length of the run", (3.0, "epoch", "")),
        ("trainer: {max_steps: -1}", "length of the run", None),
        ("sampling: {steps: 128}", "length of the run", None),
        ("noise_scheduler: {num_train_steps: 1000}", "length of the run", None),
        ("betas: [0.9, 0.99]", "betas", ((0.9, 0.99), "", "betas")),
        ("dynamic_loss_scheduling: {momentum: 0.95}", "betas", None),
        ("ema: {decay: 0.9999}", "EMA decay", (0.9999, "", "")),
        ("training: {ema: 0.9999}", "EMA decay", (0.9999, "", "")),
        ("ema_decay: 0", "EMA decay", ("off", "", "")),
        ("use_ema: true", "EMA decay", None),
        ("milestones: [10, 20]", "milestones", ((10.0, 20.0), "", "")),
        ("max_grad_norm: 1.0", "gradient clip", (1.0, "", "")),
        ("grad_clip: true", "gradient clip", ("on", "", "")),
        ("trainer: {gradient_clip_val: 0.5}", "gradient clip", (0.5, "", "")),
        ("optim_g: {type: AdamW}", "optimizer", ("AdamW", "", "")),
        ("optimizer: {_target_: torch.optim.SGD}", "optimizer", ("SGD", "", "")),
        ("lr_scheduler_type: cosine", "schedule", ("cosine", "", "")),
        ("noise: {type: cosine}", "schedule", None),
        ("save_checkpoint_freq: 20000", "checkpoint every", (20000.0, "", "")),
        ("eval_steps: 100", "evaluation every", (100.0, "step", "")),
        ("manual_seed: 1024", "seed", (1024, "", "")),
        ("data: {train_sequences: 4096}", "training samples", (4096, "sample", "")),
        ("wd: 0.05", "weight decay", (0.05, "", "")),
        ("model: {drop_path_rate: 0.1}", "dropout", (0.1, "", "drop_path_rate")),
    ],
)
def test_a_setting_is_known_by_its_words(
    text: str, quantity: str, expected: tuple[object, str, str] | None
) -> None:
    assert amounts(text, quantity) == ([] if expected is None else [expected])


def test_another_network_and_another_phase_are_not_meant() -> None:
    text = "optim_d: {lr: 0.1}\nval: {batch_size: 1}\nlr: 0.01\nbatch_size: 2"
    assert amounts(text, "learning rate") == [(0.01, "", "")]
    assert amounts(text, "batch per device") == [(2, "", "")]


@pytest.mark.parametrize(
    ("text", "together"),
    [
        ("use_amp: true\namp_bf16: false", "fp16"),
        ("use_amp: true\namp_bf16: true", "bf16"),
        ("use_amp: false\namp_dtype: float16", "fp32"),
        ("fp16: {enabled: false}\nbf16: {enabled: true}", "bf16"),
        ("amp_enabled: false\nfp16_enabled: true", "fp16"),
        ("precision: bf16-mixed", "bf16"),
        ("precision: 32", "fp32"),
        ("mixed_precision: 'no'", "fp32"),
        ("fp16: true\nbf16: true", ""),
        ("AMP_ENABLE: true\nENABLE_AMP: false", ""),
        ("lr: 0.1", ""),
    ],
)
def test_switches_together_ask_for_one_precision(text: str, together: str) -> None:
    assert precision.joined(asked_for(recipe(text))["precision"]) == together


def test_a_default_counts_where_nothing_else_is_said() -> None:
    given = recipe("lr: 0.1").settings
    defaults = recipe("lr: 0.5\nepochs: 3").settings
    asked = asked_for(Recipe(given, defaults=defaults))
    assert [one.amount.value for one in asked["learning rate"]] == [0.1]
    assert [(one.amount.value, one.is_default) for one in asked["length of the run"]] == [(3.0, True)]


def test_quantities_have_names_and_places_of_their_own() -> None:
    known = quantities()
    assert len({one.name for one in known}) == len({one.place for one in known}) == len(known)
