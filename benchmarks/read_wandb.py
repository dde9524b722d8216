"""How long a W&B run file takes to read, against a straightforward reader, as CPU time in one process.

    python benchmarks/read_wandb.py [--steps 50000] [--file run-x.wandb]

The straightforward reader does what the scripts do that people pass around: it cuts the frames, parses every
record field by field and hands every value to `json.loads`. Without --file, a run is written as W&B's own
program writes it: 23 items a step in a random order, and a summary record beside every history record.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from stethoscope.logs import head_of, read_with, wandb_run

ITEMS = 23
BLOCK = 32768


def main() -> None:
    """Write a run, read it both ways and print the ratio."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=50_000)
    options.add_argument("--file", type=Path)
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.file or Path(folder) / "run-bench.wandb"
        if chosen.file is None:
            path.write_bytes(run_file(chosen.steps))
        ours = min(_timed(lambda: _ours(path)) for _ in range(chosen.repeat))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        plain = min(_timed(lambda: _straightforward(path)) for _ in range(chosen.repeat))
        print(f"{path.stat().st_size / 1e6:.1f} MB, {ours[1]:,} values here, {plain[1]:,} there")
        print(f"here             {ours[0]:.3f} CPU s, {memory:.0f} MB at most")
        print(f"straightforward  {plain[0]:.3f} CPU s, {plain[0] / ours[0]:.1f} times as much")


def _timed(read) -> tuple[float, int]:
    before = time.process_time()
    count = read()
    return time.process_time() - before, count


def _ours(path: Path) -> int:
    return read_with(wandb_run, head_of(path, path.name)).points


# --- the straightforward reader -------------------------------------------------------------------------


def _straightforward(path: Path) -> int:
    columns: dict[str, list[tuple[int, float]]] = {}
    row = 0
    for record in _records(path.read_bytes()):
        for number, body in _fields(record):
            if number != 2:
                continue
            for key, item in _fields(body):
                if key != 1:
                    continue
                name, value = [], None
                for part, content in _fields(item):
                    if part in (1, 2):
                        name.append(content.decode())
                    elif part == 16:
                        value = json.loads(content)
                if isinstance(value, float | int):
                    columns.setdefault("/".join(name), []).append((row, float(value)))
            row += 1
    return sum(map(len, columns.values()))


def _records(data: bytes) -> Iterator[bytes]:
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = BLOCK - at % BLOCK
        if left < 7:
            at += left
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + length]
        if zlib.crc32(part, zlib.crc32(bytes([kind]))) != checksum:
            raise ValueError(at)
        at += 7 + length
        parts += part
        if kind in (1, 4):
            yield parts
            parts = b""


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            _, at = _varint(message, at)
        elif key & 7 == 2:
            length, at = _varint(message, at)
            yield key >> 3, message[at : at + length]
            at += length
        else:
            raise ValueError(key)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


# --- a run as W&B writes it -----------------------------------------------------------------------------


def run_file(steps: int) -> bytes:
    """A run file of this many steps."""
    chance = random.Random(1)
    names = ["_step", "_runtime", "_timestamp", *(f"train/layer_{i}/signal" for i in range(ITEMS - 3))]
    written = bytearray(b":W&B\xe1\xbe\x00")
    for step in range(steps):
        values = [step, step * 0.12, 1.7e9 + step * 0.12, *(chance.gauss(0, 1) for _ in names[3:])]
        texts = [(name, json.dumps(value)) for name, value in zip(names, values, strict=True)]
        chance.shuffle(texts)
        items = b"".join(_sub(1, _sub(2, n.encode()) + _sub(16, v.encode())) for n, v in texts)
        _frame(written, b"\x08\x01" + _sub(2, items + b"\x12\x02\x08\x01"))
        _frame(written, b"\x08\x01" + _sub(3, items))
    return bytes(written)


def _sub(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _frame(out: bytearray, record: bytes) -> None:
    first = True
    while True:
        left = BLOCK - len(out) % BLOCK
        if left < 7:
            out += bytes(left)
            continue
        part, record = record[: left - 7], record[left - 7 :]
        kind = (1 if not record else 2) if first else (4 if not record else 3)
        out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
        first = False
        if not record:
            return


if __name__ == "__main__":
    main()
