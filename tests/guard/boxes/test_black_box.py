"""The folder that holds one bad step."""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import signal
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from stethoscope.errors import UnreadableFile, UnwritableFile
from stethoscope.guard.boxes import black_box
from stethoscope.guard.boxes.box_values import LeftOut, Shelf, decode, encode
from stethoscope.guard.boxes.environment import environment, without_secrets
from stethoscope.guard.culprit.culprit import bad_gradients, find
from stethoscope.guard.culprit.recall import Autocast, Recall
from stethoscope.guard.observation import Observation
from tests.guard.small_nets import Net

Pair = namedtuple("Pair", "left right")


@dataclass
class Sample:
    image: torch.Tensor
    name: str


def written(folder: Path, **changes: Any) -> tuple[Path, Net]:
    torch.manual_seed(0)
    net = Net()
    net.blocks[0].eval()
    optimizer = torch.optim.AdamW(net.parameters())
    recall = Recall(net)
    x = torch.randn(4, 8)
    recall.step, recall.batch = 120, (x, torch.zeros(4))
    with torch.autocast("cpu", dtype=torch.float16):
        net(x, scale=math.inf)["prediction"].sum().backward()
    gradients = bad_gradients(net.named_parameters())
    net.zero_grad()
    net(x)["prediction"].sum().backward()
    optimizer.step()
    call = recall.calls(120)[0]
    given: dict[str, Any] = {
        "model": net,
        "optimizers": [optimizer],
        "call": call,
        "culprit": find(net, call),
        "gradients": gradients,
        "observations": [Observation(119, 1.0, {"loss": math.nan, "grad_norm": 2.0})],
        "loss_scale": 1024.0,
        "samples": torch.tensor([11, 12, 13, 14]),
    }
    return black_box.write(folder, 120, **{**given, **changes}), net


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that is full, as far as this process can see."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_box_is_read_as_it_was_written(tmp_path: Path) -> None:
    path, net = written(tmp_path)
    assert path.name == "blackbox-step000120"
    box = black_box.read(path)
    assert box.step == 120
    assert box.call is not None
    assert box.call.kwargs == {"scale": math.inf}
    assert torch.equal(box.call.args[0], box.call.batch[0])
    assert box.call.autocast == (Autocast("cpu", torch.float16),)
    assert box.parameters is not None
    assert box.buffers is not None
    for name, parameter in net.named_parameters():
        assert torch.equal(box.parameters[name], parameter)
    for name, buffer in net.named_buffers():
        assert torch.equal(box.buffers[name], buffer)
    assert box.other_mode == {"blocks.0", "blocks.0.fc", "blocks.0.norm", "blocks.0.drop"}
    assert box.loss_scale == 1024.0
    assert box.exact
    assert box.parameters_from_step == 120
    assert box.optimizers is not None
    torch.optim.AdamW(Net().parameters()).load_state_dict(box.optimizers[0])
    assert box.culprit["verdict"] == "not-finite-in-float32-too"
    assert box.told["observations"] == [
        {"step": 119, "wall": 1.0, "values": {"loss": "nan", "grad_norm": 2.0}}
    ]
    assert box.told["samples"] == ["11", "12", "13", "14"]
    assert box.left_out == ()


def test_the_tensor_files_are_safetensors_that_the_library_reads(tmp_path: Path) -> None:
    path, net = written(tmp_path)
    loaded = load_file(path / "parameters.safetensors")
    assert loaded.keys() == {name for name, _ in net.named_parameters()}
    assert not list(tmp_path.rglob("*.pt")) + list(tmp_path.rglob("*.pkl"))


def test_a_second_box_of_a_step_stands_beside_the_first(tmp_path: Path) -> None:
    names = [written(tmp_path, rank=1)[0].name for _ in range(3)]
    assert names == [
        "blackbox-step000120-rank1",
        "blackbox-step000120-rank1-2",
        "blackbox-step000120-rank1-3",
    ]


def test_what_is_over_the_cap_is_left_out_and_a_checkpoint_stands_in(tmp_path: Path) -> None:
    checkpoint = tmp_path / "last.pt"
    checkpoint.write_bytes(b"weights")
    path, _ = written(tmp_path, most_bytes=7000, checkpoint=checkpoint)
    box = black_box.read(path)
    assert box.parameters is not None
    assert box.optimizers is None
    assert box.left_out[0].startswith("optimizer: 0.0 MiB, over the cap")
    path, _ = written(tmp_path, most_bytes=6000, checkpoint=checkpoint)
    box = black_box.read(path)
    assert box.parameters is None
    assert box.call is not None
    assert box.checkpoint is not None
    assert (box.checkpoint.path, box.checkpoint.size) == (str(checkpoint), 7)
    assert box.checkpoint.sha256 == black_box.sha256(checkpoint)
    path, _ = written(tmp_path, most_bytes=0)
    assert black_box.read(path).call is None


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    with (
        files_of_at_most(2000),
        pytest.raises(UnwritableFile, match=r"black box of step 120 .* file too large"),
    ):
        written(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_nearly_full_disk_is_left_to_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nearly_full = shutil._ntuple_diskusage(100 << 30, 99 << 30, 1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: nearly_full)
    with pytest.raises(UnwritableFile, match=r"it needs 0.0 MiB, and 1.0 MiB are free"):
        written(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UnwritableFile, match=r"below .*taken"):
        written(tmp_path / "taken" / "boxes")


def test_a_box_of_nothing_but_a_step_can_be_written(tmp_path: Path) -> None:
    box = black_box.read(black_box.write(tmp_path, 5))
    assert box.call is None
    assert box.parameters is None


def test_shared_and_strided_tensors_are_kept_once_and_whole(tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight
            self.turned = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())

    net = Tied()
    path = black_box.write(tmp_path, 1, model=net)
    assert load_file(path / "parameters.safetensors").keys() == {"turned", "embed.weight"}
    box = black_box.read(path)
    assert box.parameters is not None
    assert torch.equal(box.parameters["head.weight"], net.embed.weight)
    assert torch.equal(box.parameters["turned"], net.turned)


STRANGE: list[Any] = [
    torch.tensor([1 + 2j, complex(math.nan, 0)]).conj(),
    torch.ones(3).to(torch.float8_e4m3fn),
    torch.tensor(2.5, dtype=torch.complex128),
    torch.empty(0, 4, dtype=torch.complex64),
    torch.ones(2, 2).to(torch.bfloat16),
    torch.tensor([True, False]),
    torch.tensor(7, dtype=torch.uint16),
    torch.empty(0),
    torch.tensor([math.nan, -math.inf]),
]


@pytest.mark.parametrize("tensor", STRANGE, ids=lambda one: f"{one.dtype}-{list(one.shape)}")
def test_tensors_of_every_type_come_back_bit_for_bit(tensor: torch.Tensor, tmp_path: Path) -> None:
    recall = Recall(nn.Identity())
    recall._remember("", (tensor,), {})
    (call,) = recall.calls(0)
    back = black_box.read(black_box.write(tmp_path, 0, call=call)).call
    assert back is not None
    found = back.args[0]
    assert found.dtype == tensor.dtype
    assert found.shape == tensor.shape
    as_bytes = [
        one.resolve_conj().contiguous().reshape(-1).view(torch.uint8).tolist() if one.numel() else []
        for one in (found, tensor)
    ]
    assert as_bytes[0] == as_bytes[1]


def test_values_of_every_kind_come_back(tmp_path: Path) -> None:
    shelf = Shelf()
    sparse = torch.eye(3).to_sparse()
    given = {
        "plain": [None, True, 3, 2.5, "text", math.inf, numpy.float32(0.5)],
        "pair": Pair(torch.ones(2), (1, 2)),
        "sample": Sample(torch.zeros(2), "cat"),
        "array": numpy.arange(3),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "sparse": sparse,
        7: "a number for a key",
        "object": object(),
        "a.b": torch.zeros(1),
        "a": {"b": torch.ones(1)},
    }
    node = json.loads(json.dumps(encode(given, "x", shelf), allow_nan=False))
    back = decode(node, shelf.tensors, lambda tensor, on: tensor)
    assert back["plain"] == [None, True, 3, 2.5, "text", math.inf, 0.5]
    assert back["pair"].left.tolist() == [1, 1]
    assert back["sample"].name == "cat"
    assert back["array"].tolist() == [0, 1, 2]
    assert back["dtype"] is torch.float16
    assert torch.equal(back["sparse"].to_dense(), torch.eye(3))
    assert back[7] == "a number for a key"
    assert back["object"] == LeftOut("builtins.object")
    assert shelf.left_out == ["x.object (builtins.object)"]
    assert (back["a.b"].item(), back["a"]["b"].item()) == (0, 1)


def edited(path: Path, **changes: Any) -> None:
    story = json.loads((path / "box.json").read_text())
    (path / "box.json").write_text(json.dumps({**story, **changes}))


def test_hostile_boxes_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    original = (path / "box.json").read_text()
    story = json.loads(original)
    for changes in (
        {"schema": 2},
        {"step": "x"},
        {"parameters": [1]},
        {"parameters": {"w": {"tensor": "../../etc/passwd", "dtype": "float32", "shape": [1]}}},
        {"parameters": {"w": {"value": 3}}},
        {
            "parameters": {
                "blocks.0.fc.bias": {"tensor": "blocks.0.fc.bias", "dtype": "float32", "shape": [1 << 60]}
            }
        },
        {"parameters": {"blocks.0.fc.bias": {"tensor": "blocks.0.fc.bias", "dtype": "int64", "shape": [4]}}},
        {"call": {**story["call"], "args": {"record": [["__class__", {"value": 1}]], "tuple_like": True}}},
        {"call": {**story["call"], "args": {"unheard": 1}}},
        {"call": {**story["call"], "autocast": [{"device_type": "cpu", "dtype": "qqq"}]}},
        {"call": 3},
        {"optimizers": 3},
        {"checkpoint": []},
    ):
        edited(path, **changes)
        with pytest.raises(UnreadableFile, match="is no black box that can be read"):
            black_box.read(path)
        (path / "box.json").write_text(original)
    black_box.read(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    for name, content in (
        ("box.json", b""),
        ("box.json", b"[" * 100_000),
        ("box.json", b"\xff\xfe"),
        ("batch.safetensors", b"\xff" * 100),
        ("parameters.safetensors", b""),
    ):
        original = (path / name).read_bytes()
        (path / name).write_bytes(content)
        with pytest.raises(UnreadableFile):
            black_box.read(path)
        (path / name).write_bytes(original)
    with pytest.raises(UnreadableFile, match="no folder"):
        black_box.read(tmp_path / "none")


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    (path / "batch.safetensors").rename(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path / "batch.safetensors")
    with pytest.raises(UnreadableFile, match="is a link or a device"):
        black_box.read(path)


def test_the_command_line_is_kept_without_its_secrets() -> None:
    given = [
        "train.py",
        "--lr=0.1",
        "--wandb_key=abc",
        "--hf-token",
        "xyz",
        "--password",
        "--data",
        "s3://me:pw@host/x",
        "hf_abcdefghijkl",
        "--tokenizer-path",
        "gpt2",
    ]
    assert without_secrets(given) == [
        "train.py",
        "--lr=0.1",
        "--wandb_key=***",
        "--hf-token",
        "***",
        "--password",
        "--data",
        "s3://***@host/x",
        "***",
        "--tokenizer-path",
        "gpt2",
    ]


def test_the_environment_is_plain() -> None:
    told = environment()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["torch"] == torch.__version__
