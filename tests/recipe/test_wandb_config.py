"""The settings that W&B kept of a run, wherever the file was copied to."""

from __future__ import annotations

from stethoscope.recipe import read_settings
from stethoscope.recipe.wandb_config import unwrapped

OLD = "wandb_version: 1\n_wandb:\n  desc: null\n  value: {cli: 0.16.6}\nlr:\n  desc: null\n  value: 0.1\n"
LATER = "_wandb:\n  value: {t: {1: [1, 2]}}\nlr:\n  value: 0.1\nnet:\n  value: {dim: 4}\n"


def held(text: str, name: str = "config.yaml", folders: tuple[str, ...] = ()) -> dict[str, object]:
    return {s.dotted: s.value for s in unwrapped(read_settings(text, name, "yaml"), name, folders)}


def test_its_own_file_is_known_by_what_it_holds() -> None:
    assert held(OLD) == {"lr": 0.1}
    assert held(LATER) == {"lr": 0.1, "net.dim": 4}


def test_its_own_file_is_known_by_its_place() -> None:
    assert held("lr:\n  value: 0.1\n", folders=("wandb", "latest-run", "files")) == {"lr": 0.1}


def test_settings_that_people_wrote_stay_as_they_are() -> None:
    assert held("lr:\n  value: 0.1\n") == {"lr.value": 0.1}
    assert held(OLD + "epochs: 3\n")["lr.value"] == 0.1
    assert held(OLD, name="train.yaml")["lr.value"] == 0.1
