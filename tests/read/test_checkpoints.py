"""Checkpoints on disk: steps by name, contents by name and folder, damage by header; nothing is unpickled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.run.checkpoint import Checkpoint
from stethoscope.run.checkpoint_files import checkpoints_in, step_of
from stethoscope.run.folder import walk


def write(path: Path, content: bytes = b"weights") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def safetensors(data: int = 8, header: object | None = None) -> bytes:
    tensors = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {"a": "b"}}
    text = json.dumps(tensors if header is None else header).encode()
    return len(text).to_bytes(8, "little") + text + b"\0" * data


def found(root: Path) -> dict[str, Checkpoint]:
    return {Path(one.file).name: one for one in checkpoints_in(walk(root, str(root)).files, root)}


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("net_g_ema_20000.safetensors", 20000),
        ("net_g_20.pth", 20),
        ("net_g_latest.pth", None),
        ("epoch=3-step=1200.ckpt", 1200),
        ("ckpt_0001000.pt", 1000),
        ("checkpoint_step_0025000.pth", 25000),
        ("iter_40000.pth", 40000),
        ("20000.state", 20000),
        ("model100000.pt", 100000),
        ("state_step019560.pt", 19560),
        ("model_0000999.pth", 999),
        ("model_best.pth", None),
        ("best.pt", None),
        ("model_epoch_12.pth", None),
        ("best_model_epoch120.pt", None),
        ("resnet50.pth", None),
        ("RealESRGAN_x4plus.pth", None),
        ("model-00001-of-00002.safetensors", None),
        ("network-snapshot-000100.pkl", None),
    ],
)
def test_the_step_is_in_the_name(name: str, step: int | None) -> None:
    assert step_of(name) == step


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("models/net_g_ema_20000.safetensors", "ema weights"),
        ("resume_models/net_g_20000.safetensors", "weights"),
        ("training_states/20000.state", "training state"),
        ("lightning_logs/version_0/checkpoints/epoch=3-step=1200.ckpt", "weights and training state"),
        ("out/ckpt.pt", "unknown"),
    ],
)
def test_what_it_holds_is_in_the_name_and_folder(tmp_path: Path, name: str, holds: str) -> None:
    write(tmp_path / name, safetensors() if name.endswith("safetensors") else b"x")
    (one,) = found(tmp_path).values()
    assert str(one.holds) == holds


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (safetensors(), "1 tensors"),
        (safetensors(data=4), "cut off: the header promises 8 bytes of tensors, 4 are there"),
        (b"", "the file is empty"),
        (b"\x00\x01", "not a readable safetensors file"),
        ((1 << 60).to_bytes(8, "little") + b"{}", "its header would be 1,152,921,504,606,846,976 bytes long"),
        ((2).to_bytes(8, "little") + b"[]", "its header is not an object"),
        ((4).to_bytes(8, "little") + b"\xff\xff\xff\xff", "not a readable safetensors file"),
        (safetensors(header={"w": 5, "v": {"data_offsets": ["a", None]}}), "2 tensors"),
    ],
)
def test_a_safetensors_header_is_read_with_care(tmp_path: Path, content: bytes, words: str) -> None:
    write(tmp_path / "net_g_5000.safetensors", content)
    (one,) = found(tmp_path).values()
    assert words in one.note
    assert one.readable is words.endswith("tensors")


def test_a_checkpoint_folder_is_one_checkpoint(tmp_path: Path) -> None:
    home = tmp_path / "checkpoint-500"
    write(home / "model-00001-of-00002.safetensors", safetensors())
    write(home / "model-00002-of-00002.safetensors", safetensors(data=0))
    write(home / "optimizer.pt")
    write(tmp_path / "checkpoint-900" / "config.json", b"{}")
    one = found(tmp_path)["checkpoint-500"]
    assert (one.step, str(one.holds), one.readable) == (500, "weights and training state", False)
    assert "model-00002-of-00002.safetensors: cut off" in one.note
    assert len(found(tmp_path)) == 1, "a folder without weights is no checkpoint"


@pytest.mark.parametrize(
    "name", ["train.pt", "dataset.pt", "tokenizer.bin", "vocab.pkl", "training_args.bin", "val_00.pt"]
)
def test_data_is_not_taken_for_a_checkpoint(tmp_path: Path, name: str) -> None:
    write(tmp_path / "data" / name)
    assert found(tmp_path) == {}


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    write(tmp_path / "model.pth", b"cos\nsystem\n(S'touch pwned'\ntR.").chmod(0)
    assert found(tmp_path)["model.pth"].readable


@pytest.mark.parametrize(("counted", "steps"), [("epoch", [3, 12]), ("step", [None, None])])
def test_an_epoch_in_a_name_is_a_step_where_the_run_counts_epochs(
    counted: str, steps: list[int | None], tmp_path: Path
) -> None:
    rows = "".join(f"{at},{1 / (at + 1)}\n" for at in range(20))
    (tmp_path / "log.csv").write_text(f"{counted},val_loss\n{rows}", encoding="utf-8")
    for name in ("epoch_003.pt", "epoch_012.pt"):
        (tmp_path / name).write_bytes(b"weights")
    assert [one.step for one in read(tmp_path).checkpoints] == steps
