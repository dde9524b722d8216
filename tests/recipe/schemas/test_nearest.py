"""What somebody meant who wrote a name that is not known."""

from __future__ import annotations

import pytest

from stethoscope.recipe.schemas import nearest
from stethoscope.recipe.schemas._nearest import mistakes

KNOWN = (
    *("weight_decay", "max_epochs", "gradient_clip_val", "learning_rate", "warmup_steps", "eval_steps"),
    *(
        "per_device_train_batch_size",
        "lr0",
        "lrf",
        "beta1",
        "T_max",
        "batch_size",
        "gradient_accumulation_steps",
    ),
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("weigth_decay", "weight_decay"),
        ("max_epoch", "max_epochs"),
        ("warmup_step", "warmup_steps"),
        ("learning_rat", "learning_rate"),
        ("gradient_acumulation_steps", "gradient_accumulation_steps"),
        ("batchsize", "batch_size"),
        ("batch-size", "batch_size"),
        ("maxEpochs", "max_epochs"),
        ("t_max", "T_max"),
        ("train_per_device_batch_size", "per_device_train_batch_size"),
        ("decay_weight", "weight_decay"),
    ],
)
def test_a_slip_leads_to_the_one_name_that_was_meant(name: str, meant: str) -> None:
    found = nearest(name, KNOWN)
    assert (found.name, found.clear) == (meant, True)


@pytest.mark.parametrize(
    "name",
    [
        "note",
        "lr1",
        "beta2",
        "lr",
        "seed",
        "num_layers",
        "train_steps",
        "dropout",
        "model",
        "max_tokens",
        "x",
    ],
)
def test_another_name_leads_nowhere(name: str) -> None:
    assert not nearest(name, KNOWN)


def test_a_shorter_form_is_offered_and_not_sure() -> None:
    found = nearest("grad_clip", KNOWN)
    assert (found.name, found.clear) == ("gradient_clip_val", False)


def test_of_two_names_as_near_none_is_sure() -> None:
    found = nearest("warmup_stepp", ["warmup_steps", "warmup_stepz"])
    assert found.name
    assert not found.clear


def test_a_former_name_leads_to_the_present_one() -> None:
    found = nearest("evaluation_strategy", ["eval_strategy"], {"evaluation_strategy": "eval_strategy"})
    assert (found.name, found.clear) == ("eval_strategy", True)


def test_a_former_name_whose_present_one_is_not_taken_leads_nowhere() -> None:
    assert not nearest("gpus", ["max_epochs"], {"gpus": "devices"})


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("", "", 0),
        ("a", "a", 0),
        ("ab", "ba", 1),
        ("abc", "abcd", 1),
        ("kitten", "sitting", 3),
        ("weigth", "weight", 1),
    ],
)
def test_mistakes_are_counted_with_neighbours_swapped_as_one(one: str, other: str, count: int) -> None:
    assert mistakes(one, other, 5) == mistakes(other, one, 5) == count
    assert count == 0 or mistakes(one, other, count - 1) is None
