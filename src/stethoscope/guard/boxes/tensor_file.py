"""Tensors in a safetensors file, written one after the other.

The library writes a file from tensors that are all in memory at once, and reports a full disk in words of its
own. Here one tensor at a time is brought to the host, and what the disk says is an OSError. Files are read by
the library.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stethoscope.errors import UnreadableFile

# What every version of the format knows; the rest is stored as bytes (see box_values).
NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
ALIGNMENT = 8  # bytes; readers map numbers where they lie


def write(path: Path, tensors: Sequence[tuple[str, Tensor]]) -> None:
    """Write dense tensors of plain types; raises OSError where the disk refuses."""
    header = _header(tensors)
    with open(path, "xb") as stream:
        stream.write(struct.pack("<Q", len(header)))
        stream.write(header)
        for _, tensor in tensors:
            stream.write(_bytes(tensor))
        stream.flush()
        os.fsync(stream.fileno())


def read(path: Path) -> Mapping[str, Tensor]:
    """Every tensor of a file, on the CPU; raises UnreadableFile where it is not what it claims to be."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        loaded: dict[str, Tensor] = load_file(path, device="cpu")
    except (SafetensorError, OSError, ValueError, KeyError) as problem:
        raise UnreadableFile(f"{path} is no safetensors file that can be read: {problem}.") from problem
    # Where a tensor lies in memory decides how some processors add it up: each gets a place of its own.
    return {name: tensor.clone() for name, tensor in loaded.items()}


def _header(tensors: Sequence[tuple[str, Tensor]]) -> bytes:
    entries: dict[str, object] = {}
    offset = 0
    for name, tensor in tensors:
        end = offset + tensor.numel() * tensor.element_size()
        shape = list(tensor.shape)
        entries[name] = {"dtype": NAMES[tensor.dtype], "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % ALIGNMENT)


def _bytes(tensor: Tensor) -> Any:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data if flat.numel() else b""
