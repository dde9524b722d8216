"""Checkpoints survive bad weights, full disks and killed processes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from stethoscope.errors import UnwritableFile
from stethoscope.guard.checkpoints import Saved, last_good, save
from stethoscope.guard.happening import Kind, Severity

GOOD = {"model": {"weight": torch.arange(4.0)}, "step": 7, "best": math.inf}


def broken() -> dict[str, object]:
    return {"model": {"weight": torch.tensor([1.0, math.nan, math.inf]), "bias": torch.ones(2)}, "step": 8}


def load(path: Path) -> dict[str, object]:
    state: dict[str, object] = torch.load(path, weights_only=True)
    return state


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_good_state_is_written_and_replaces_the_last(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    assert save(GOOD, path) is None
    assert save({**GOOD, "step": 9}, path) is None
    assert load(path)["step"] == 9
    assert names(tmp_path) == ["last.pt"]


def test_a_bad_state_never_takes_the_name(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    save(GOOD, path)
    before = path.read_bytes()
    told = save(broken(), path, step=12)
    assert told is not None
    assert (told.kind, told.step, told.severity) == (Kind.BAD_CHECKPOINT, 12, Severity.CRITICAL)
    assert told.seen == "1 of the checkpoint's tensors is not finite: model.weight (2 NaN and inf)."
    assert told.facts["bad"] == [{"name": "model.weight", "kind": "NaN and inf", "number": 2}]
    assert "last.pt is as it was" in told.means
    assert path.read_bytes() == before
    assert names(tmp_path) == ["last.bad.pt", "last.pt"]
    assert load(tmp_path / "last.bad.pt")["step"] == 8


def test_a_bad_state_is_not_kept_where_that_is_not_wanted(tmp_path: Path) -> None:
    told = save(broken(), tmp_path / "first.ckpt", keep_bad=False)
    assert told is not None
    assert "first.ckpt was not made. It was not written." in told.means
    assert names(tmp_path) == []


def test_a_mask_in_the_model_is_no_damage(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    model.register_buffer("mask", torch.full((4, 4), -math.inf).triu(1))
    assert save(model.state_dict(), tmp_path / "a.pt") is None
    biased: Tensor = torch.tensor([-math.inf, 0.5, 0.25])
    assert save({"alibi": biased}, tmp_path / "b.pt", excused=["alibi"]) is None
    assert save({"alibi": biased}, tmp_path / "b.pt") is not None


def test_safetensors_are_written_where_the_name_asks_for_them(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weight = torch.arange(6.0).reshape(2, 3)
    state = {"weight": weight, "tied": weight, "turned": weight.t(), "row": weight[1]}
    assert save(state, path) is None
    from safetensors.torch import load_file

    read = load_file(path)
    assert all(torch.equal(read[name], state[name]) for name in state)
    assert save({"weight": torch.tensor([math.nan])}, path) is not None
    assert names(tmp_path) == ["model.bad.safetensors", "model.safetensors"]
    with pytest.raises(UnwritableFile, match="holds a dict of tensors and nothing else"):
        save(GOOD, path)


def test_the_file_has_the_rights_that_any_file_gets(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    for name in ("a.pt", "a.safetensors"):
        save({"a": torch.ones(1)}, tmp_path / name)
        assert (tmp_path / name).stat().st_mode == plain.stat().st_mode


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "step-1.pt", tmp_path / "latest.pt"
    save(GOOD, target)
    link.symlink_to(target)
    save({**GOOD, "step": 2}, link)
    assert link.is_symlink()
    assert load(target)["step"] == 2


def test_a_missing_folder_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match=r"nowhere/a\.pt"):
        save(GOOD, tmp_path / "nowhere" / "a.pt")


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import torch
from stethoscope.errors import UnwritableFile
from stethoscope.guard.checkpoints import save

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails as it does on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
state = {"weight": torch.zeros(1_000_000)}
for name in ("last.pt", "last.safetensors"):
    try:
        save(state, Path(sys.argv[1]) / name)
    except UnwritableFile as problem:
        print(problem)
bad = save({"weight": torch.full((1_000_000,), float("nan"))}, Path(sys.argv[1]) / "last.pt")
print(bad.means)
"""


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    for name in ("last.pt", "last.safetensors"):
        save({"weight": torch.arange(3.0)}, tmp_path / name)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    first, second, third = ran.stdout.splitlines()
    assert str(tmp_path / "last.pt") in first
    assert "left as it is" in first
    assert str(tmp_path / "last.safetensors") in second
    assert "left as it is" in second
    assert "could not be written beside it either" in third
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


# One process that knows torch makes those that are killed: starting each takes longer than all the rest.
KILLED = """
import os, signal, sys, time
from pathlib import Path
import torch
from stethoscope.guard.checkpoints import save

torch.set_num_threads(1)
for wait in (0.0, 0.003, 0.006, 0.009, 0.015):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for step in range(10**6):
            save({"weight": torch.full((500_000,), float(step)), "step": step}, Path(sys.argv[1]) / "last.pt")
            os.write(writing, b".")
    os.close(writing)
    told = len(os.read(reading, 1)) + len(os.read(reading, 1))
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 4096):
        told += len(more)
    state = torch.load(Path(sys.argv[1]) / "last.pt", weights_only=True)
    assert bool((state["weight"] == state["step"]).all()), "torn"
    print(state["step"], told - 1, flush=True)
"""


def test_a_killed_process_leaves_a_whole_checkpoint_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    for line in ran.stdout.splitlines():
        found, told = map(int, line.split())
        assert found in (told, told + 1)
    assert len(ran.stdout.splitlines()) == 5
    assert all(name == "last.pt" or name.endswith(".part") for name in names(tmp_path))
    save(GOOD, tmp_path / "last.pt")
    assert names(tmp_path) == ["last.pt"]


def test_the_parts_of_other_machines_and_living_processes_are_left_alone(tmp_path: Path) -> None:
    others = [
        ".last.pt.elsewhere-1.part",
        f".last.pt.{os.uname().nodename}-{os.getppid()}.part",
        ".other.part",
    ]
    for name in others:
        (tmp_path / name).touch()
    save(GOOD, tmp_path / "last.pt")
    assert names(tmp_path) == sorted([*others, "last.pt"])


def test_the_last_good_checkpoint_is_the_latest_from_before_that_is_still_there(tmp_path: Path) -> None:
    saved = [Saved(tmp_path / f"step-{step}.pt", step) for step in (10, 20, 30, 40)]
    for one in saved:
        save(GOOD, one.path)
    assert last_good(saved, 35) == saved[2]
    assert last_good(saved, 30) == saved[2]
    saved[2].path.unlink()  # as a loop does that keeps the last few
    assert last_good(saved, 35) == saved[1]
    assert last_good(saved, 9) is None
    assert last_good([], 35) is None


def test_what_was_written_beside_is_no_checkpoint_to_go_back_to(tmp_path: Path) -> None:
    from stethoscope.run.checkpoint_files import checkpoints_in
    from stethoscope.run.folder import walk

    for name in ("model_step250.pt", "model_step300.bad.pt"):
        (tmp_path / name).write_bytes(b"weights")
    found = checkpoints_in(walk(tmp_path, str(tmp_path)).files, tmp_path)
    assert [one.step for one in found] == [250]
