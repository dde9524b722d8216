"""Two runs held against each other: where they part, and what differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stethoscope.compare import compare
from tests.compare.runs import losses, write

CODE = """
import torch


def train(model, data, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in data:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, data):
    return 1.0
"""


def worse() -> np.ndarray:
    bad = losses(2)
    bad[100:] *= np.linspace(1, 3, len(bad) - 100)
    return bad


def test_the_only_difference_is_said(tmp_path: Path) -> None:
    good = write(tmp_path / "good", losses(1), "lr: 0.001\nclip: 1.0\nseed: 1\n", CODE)
    bad = write(tmp_path / "bad", worse(), "lr: 0.001\nclip: 0.0\nseed: 2\n", CODE)
    compared = compare(good, bad)
    assert compared.signals.first is not None
    assert compared.signals.first.name == "loss"
    assert [one.key for one in compared.settings.relevant] == ["clip"]
    assert compared.settings.seeds == (1, 2)
    assert compared.only_one is not None
    assert compared.only_one.what == "clip: 1.0 -> 0.0"
    (difference,) = compared.settings.relevant
    assert difference.good_where is not None
    assert difference.good_where.line == 2


def test_form_is_no_difference_and_a_changed_function_is(tmp_path: Path) -> None:
    reformatted = CODE.replace("        loss.backward()", "        # back\n        loss.backward( )")
    changed = CODE.replace("        optimizer.zero_grad()\n", "")
    good = write(tmp_path / "good", losses(1), code=CODE)
    same = compare(good, write(tmp_path / "same", losses(2), code=reformatted))
    assert same.code.changed == ()
    assert same.code.reformatted == 1
    other = compare(good, write(tmp_path / "other", worse(), code=changed))
    (difference,) = other.code.changed
    assert difference.name.endswith("train.train")
    assert "-        optimizer.zero_grad()" in difference.diff
    assert not difference.measures_only


def test_numbers_written_differently_are_the_same(tmp_path: Path) -> None:
    good = write(tmp_path / "good", losses(1), "lr: 1e-3\nsteps: 2000\nmilestones: [1, 2]\n")
    bad = write(tmp_path / "bad", losses(2), "lr: 0.001\nsteps: 2000.0\nmilestones: [1, 2]\n")
    assert compare(good, bad).settings.relevant == ()


def test_names_and_paths_are_folded_away_and_counted(tmp_path: Path) -> None:
    good = write(tmp_path / "good", losses(1), "lr: 0.001\nexp_name: a\noutput_dir: /data/a\n")
    bad = write(tmp_path / "bad", losses(2), "lr: 0.001\nexp_name: b\noutput_dir: /data/b\n")
    settings = compare(good, bad).settings
    assert settings.relevant == ()
    assert sorted(one.key for one in settings.folded) == ["exp_name", "output_dir"]


def test_data_and_weights_at_another_path_are_not_folded_away(tmp_path: Path) -> None:
    good = write(tmp_path / "good", losses(1), "lr: 0.001\ntrain_path: /data/a\npretrained: /w/a.pt\n")
    bad = write(tmp_path / "bad", losses(2), "lr: 0.001\ntrain_path: /data/b\npretrained: /w/b.pt\n")
    assert sorted(one.key for one in compare(good, bad).settings.relevant) == ["pretrained", "train_path"]


def test_runs_that_are_equal_up_to_a_step_say_so(tmp_path: Path) -> None:
    later = losses(1)
    later[120:] *= np.linspace(1, 4, 80)
    compared = compare(write(tmp_path / "good", losses(1)), write(tmp_path / "bad", later))
    assert compared.signals.identical_until is not None
    assert 1190 <= compared.signals.identical_until <= 1210
    assert compared.parts
    same = compare(tmp_path / "good", write(tmp_path / "same", losses(1)))
    assert same.signals.identical
    assert not same.parts


def test_a_later_milestone_cannot_explain_an_earlier_parting(tmp_path: Path) -> None:
    good = write(tmp_path / "good", losses(1), "lr: 0.001\nmilestones: [500, 1900]\nclip: 1.0\n")
    bad = write(tmp_path / "bad", worse(), "lr: 0.001\nmilestones: [500, 1950]\nclip: 0.5\n")
    able = {one.what.partition(":")[0]: one.can_act for one in compare(good, bad).suspects}
    assert able == {"milestones": False, "clip": True}


def test_packages_that_differ_are_told(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", losses(1)), write(tmp_path / "bad", losses(2))
    (good / "requirements.txt").write_text("torch==2.4.1\nnumpy==1.26.4\n")
    (bad / "requirements.txt").write_text("torch==2.5.0\nnumpy==1.26.4\n")
    (difference,) = compare(good, bad).environment.changed
    assert (difference.what, difference.good, difference.bad) == ("package torch", "2.4.1", "2.5.0")


def test_machines_that_wandb_describes_are_compared(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", losses(1)), write(tmp_path / "bad", losses(2))
    (good / "wandb-metadata.json").write_text('{"gpu": "NVIDIA A100", "gpu_count": 8, "args": ["--lr", "1"]}')
    (bad / "wandb-metadata.json").write_text('{"gpu": "NVIDIA A100", "gpu_count": 4, "args": 7, "git": null}')
    environment = compare(good, bad).environment
    assert [one.what for one in environment.changed] == ["GPUs"]
    assert [one.what for one in environment.one_sided] == ["command line"]


def test_settings_that_are_missing_are_not_the_same(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", losses(1)), write(tmp_path / "bad", losses(2))
    (bad / "config.yaml").unlink()
    compared = compare(good, bad)
    assert compared.settings.unknown == "no settings were found with the bad run"
    assert compared.only_one is None
