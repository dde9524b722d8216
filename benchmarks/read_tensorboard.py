"""How long a million TensorBoard scalars take to read, here and with other readers.

    python benchmarks/read_tensorboard.py [scalars] [--alone]

Writes files as PyTorch's SummaryWriter does (checked against it where it is installed), and reads each in a
fresh process with every reader there is: CPU seconds without imports, those of a server included; wall
seconds; peak memory. All readers must give the same values. `--alone` leaves the others out.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

TAGS = (
    *(
        "train/loss",
        "train/lr",
        "train/grad_norm",
        "val/loss",
        "val/accuracy",
        "loss/l1",
        "loss/ssim",
        "scale",
    ),
    *("loss/percep", "loss/gan", "mem/allocated", "mem/reserved", "time/step", "time/data", "throughput"),
    *("optim/beta1", "weights/norm", "weights/update_ratio", "acts/mean", "acts/std"),
)
OURS = "stethoscope"
PEERS = {
    "EventAccumulator": ("tensorboard", "pip install tensorboard"),
    "tbparse": ("tbparse", "pip install tbparse"),
    "data server (Rust)": ("tensorboard_data_server", "pip install tensorboard"),
}
REPEATS = 5  # readings by Stethoscope, of which the median counts; the others take too long for that
REGIME_RECORDS = 300_000
BATCH = 50_000  # records written at once

Scalars = dict[str, tuple[np.ndarray, np.ndarray]]  # steps and values by tag
Row = tuple[float, int, str, float]  # wall time, step, tag, value


# --- files ------------------------------------------------------------------------------------------


def body(row: Row, as_tensor: bool) -> bytes:
    """An event of one scalar, as torch.utils.tensorboard writes it."""
    wall, step, tag, value = row
    number = struct.pack("<f", value)
    name = b"\x0a" + _varint(len(tag)) + tag.encode()
    if as_tensor:
        content = name + b"B\x08\x08\x01*\x04" + number + b"J\x0b\n\t\n\x07scalars"
    else:
        content = name + b"\x15" + number
    value_field = b"\x0a" + _varint(len(content)) + content
    spelled = b"\x10" + _varint(step) if step else b""
    return b"\x09" + struct.pack("<d", wall) + spelled + b"\x2a" + _varint(len(value_field)) + value_field


def _varint(value: int) -> bytes:
    spelled = bytearray()
    while value > 0x7F:
        spelled.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*spelled, value])


def framed(bodies: list[bytes]) -> bytes:
    """The bodies as TFRecords, their checksums computed together."""
    from stethoscope.logs._tensorboard.crc32c import crcs

    lengths = [struct.pack("<Q", len(one)) for one in bodies]
    parts = [part for pair in zip(lengths, bodies, strict=True) for part in pair]
    sizes = np.array([len(part) for part in parts])
    crc = crcs(np.frombuffer(b"".join(parts), np.uint8), np.cumsum(sizes) - sizes, sizes)
    masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)
    marks = masked.astype("<u4").tobytes()
    return b"".join(part + marks[4 * at : 4 * at + 4] for at, part in enumerate(parts))


def write(path: Path, rows: Iterable[Row], as_tensor: bool) -> None:
    """An event file of these scalars."""
    with path.open("wb") as stream:
        bodies = [b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"]
        for row in rows:
            bodies.append(body(row, as_tensor))
            if len(bodies) == BATCH:
                stream.write(framed(bodies))
                bodies = []
        stream.write(framed(bodies) if bodies else b"")


def run_of(tags: Iterable[str], count: int) -> Iterator[Row]:
    """Every tag at every step."""
    noise, names = random.Random(0), list(tags)
    for at in range(count):
        step, tag = divmod(at, len(names))
        yield 1.7e9 + 5e-5 * at, step, names[tag], noise.random() * math.exp(-step / 20_000) + tag


def shuffled(count: int) -> Iterator[Row]:
    """Tags in no order."""
    noise = random.Random(1)
    return ((wall, step, noise.choice(TAGS), value) for wall, step, _, value in run_of(TAGS, count))


def mixed(count: int) -> Iterator[Row]:
    """Tags logged every 1, 2, 3 ... 20 steps."""
    written = 0
    for wall, step, tag, value in run_of(TAGS, 20 * count):
        if step % (TAGS.index(tag) + 1) == 0:
            yield wall, step, tag, value
            written += 1
            if written == count:
                return


def named(count: int) -> list[str]:
    """So many names, as those of a model's layers."""
    kinds = ("grad_norm", "weight/mean", "weight/std", "act/mean", "act/max")
    return [f"layer{at // 5}/{kinds[at % 5]}" for at in range(count)]


REGIMES: dict[str, Callable[[int], Iterator[Row]]] = {
    "20 tags": lambda count: run_of(TAGS, count),
    "300 tags": lambda count: run_of(named(300), count),
    "2,000 tags": lambda count: run_of(named(2_000), count),
    "random order": shuffled,
    "mixed cadences": mixed,
}


def torch_agrees(folder: Path) -> bool | None:
    """Whether PyTorch writes the same bytes; None where it is not installed."""
    if not (find_spec("torch") and find_spec("tensorboard")):
        return None
    from torch.utils.tensorboard import SummaryWriter

    for as_tensor in (False, True):
        with SummaryWriter(str(folder / f"torch-{as_tensor}")) as writer:
            for at in range(400):
                writer.add_scalar(TAGS[at % 20], at / 7, at, new_style=as_tensor)
        (path,) = (folder / f"torch-{as_tensor}").iterdir()
        data, at, bodies = path.read_bytes(), 0, []
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            bodies.append(data[at + 12 : at + 12 + length])
            at += 16 + length
        walls = [struct.unpack_from("<d", one, 1)[0] for one in bodies]
        own = [body((walls[at + 1], at, TAGS[at % 20], at / 7), as_tensor) for at in range(400)]
        if framed([bodies[0], *own]) != data:
            return False
    return True


# --- readers ----------------------------------------------------------------------------------------


def read_ours(path: Path) -> Scalars:
    """Stethoscope."""
    from stethoscope.logs import read_log

    return {series.logged_as: (series.steps, series.values) for series in read_log(path).series}


def read_accumulator(path: Path) -> Scalars:
    """TensorBoard's own reader, told to keep everything."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    events = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    found = {}
    for tag in events.Tags()["scalars"]:
        rows = events.Scalars(tag)
        found[tag] = np.array([row.step for row in rows]), np.array([row.value for row in rows])
    for tag in events.Tags()["tensors"]:
        rows = events.Tensors(tag)
        values = [make_ndarray(row.tensor_proto).item() for row in rows]
        found[tag] = np.array([row.step for row in rows]), np.array(values)
    return found


def read_tbparse(path: Path) -> Scalars:
    """tbparse, long format."""
    from tbparse import SummaryReader

    reader = SummaryReader(str(path), event_types={"scalars", "tensors"})
    frame = reader.scalars if len(reader.scalars) else reader.tensors
    return {
        tag: (rows["step"].to_numpy(), rows["value"].to_numpy().astype(np.float64))
        for tag, rows in frame.groupby("tag")
    }


def read_server(path: Path) -> Scalars:
    """The Rust server of TensorBoard, asked over gRPC until it has read everything."""
    import grpc
    import tensorboard_data_server
    from tensorboard import context
    from tensorboard.data import grpc_provider
    from tensorboard.data.provider import RunTagFilter

    last = int(os.environ["LAST_STEP"])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "events.out.tfevents.1").symlink_to(path.resolve())
        port = Path(folder) / "port"
        options = ["--reload", "once", "--port", "0", "--port-file", str(port)]
        sampling = ["--samples-per-plugin", "scalars=all"]
        command = [tensorboard_data_server.server_binary(), "--logdir", folder, *options, *sampling]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            while not (port.exists() and port.read_text().endswith("\n")):
                time.sleep(0.01)
            limit = [("grpc.max_receive_message_length", 1 << 30)]
            channel = grpc.insecure_channel(f"localhost:{port.read_text().strip()}", options=limit)
            provider = grpc_provider.GrpcDataProvider("localhost", grpc_provider.make_stub(channel))
            asked = {"experiment_id": "", "plugin_name": "scalars"}
            while True:
                runs = provider.list_scalars(context.RequestContext(), **asked)
                if runs and all(tag.max_step == last for tag in next(iter(runs.values())).values()):
                    break
                time.sleep(0.02)
            ((run, tags),) = runs.items()
            found = {}
            for tag in tags:
                wanted = RunTagFilter(runs=[run], tags=[tag])
                rows = provider.read_scalars(
                    context.RequestContext(), **asked, downsample=1 << 30, run_tag_filter=wanted
                )[run][tag]
                found[tag] = np.array([row.step for row in rows]), np.array([row.value for row in rows])
            return found
        finally:
            SERVER_MEMORY.append(peak_memory(server.pid))
            server.kill()
            server.wait()


SERVER_MEMORY: list[float] = []


def peak_memory(process: int | str = "self") -> float:
    """The most memory a process had, in MB; of this one only where the system has no /proc."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 if process == "self" else 0.0
    lines = status.read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


READERS: dict[str, Callable[[Path], Scalars]] = {
    OURS: read_ours,
    "EventAccumulator": read_accumulator,
    "tbparse": read_tbparse,
    "data server (Rust)": read_server,
}


def digest_of(scalars: Scalars) -> str:
    """One number for all steps and values."""
    digest = hashlib.sha256()
    for tag in sorted(scalars):
        steps, values = scalars[tag]
        digest.update(tag.encode())
        digest.update(np.asarray(steps).astype("<i8").tobytes())
        digest.update(np.asarray(values).astype("<f4").tobytes())
    return digest.hexdigest()[:12]


# --- measuring --------------------------------------------------------------------------------------


def _warm_up(name: str) -> None:
    """Import what the reader imports, so that reading alone is timed."""
    if name == OURS:
        from stethoscope.logs import formats

        formats()
    elif name == "tbparse":
        import_module("tbparse")
    elif name == "EventAccumulator":
        import_module("tensorboard.backend.event_processing.event_accumulator")
    else:
        import_module("tensorboard.data.grpc_provider")


def measure_here(name: str, path: Path) -> None:
    """Read in this process and print the cost as JSON."""
    _warm_up(name)
    began, before = time.perf_counter(), time.process_time()
    scalars = READERS[name](path)
    cpu, wall = time.process_time() - before, time.perf_counter() - began
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {
        "cpu": cpu + child.ru_utime + child.ru_stime,
        "wall": wall,
        "memory": peak_memory() + sum(SERVER_MEMORY),
        "points": sum(len(steps) for steps, _ in scalars.values()),
        "digest": digest_of(scalars),
    }
    print(json.dumps(cost))


def measure(name: str, path: Path, last_step: int = 0) -> dict[str, float | str]:
    """Read in a process of its own."""
    command = [sys.executable, __file__, "--read", name, str(path)]
    environment = os.environ | {"LAST_STEP": str(last_step), "TF_CPP_MIN_LOG_LEVEL": "3"}
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    cost: dict[str, float | str] = json.loads(output.splitlines()[-1])
    return cost


def compare(path: Path, encoding: str, last_step: int, peers: Iterable[str]) -> None:
    """Print a line for every reader of one file."""
    runs = [measure(OURS, path) for _ in range(REPEATS)]
    ours = runs[0] | {key: statistics.median(float(run[key]) for run in runs) for key in ("cpu", "wall")}
    print(f"\n{encoding}: {ours['points']:,} scalars, {path.stat().st_size / 1e6:.1f} MB")
    print(f"{'reader':20} {'CPU s':>8} {'wall s':>8} {'peak MB':>8} {'CPU ratio':>10}  values")
    for name in (OURS, *peers):
        cost = ours if name == OURS else measure(name, path, last_step)
        verdict = "same" if cost["digest"] == ours["digest"] else "DIFFERENT"
        ratio = float(cost["cpu"]) / float(ours["cpu"])
        costs = f"{cost['cpu']:8.3f} {cost['wall']:8.3f} {cost['memory']:8.0f}"
        print(f"{name:20} {costs} {ratio:9.1f}x  {verdict}", flush=True)


def main() -> None:
    """Write the files and read them with everything there is."""
    if sys.argv[1:2] == ["--read"]:
        measure_here(sys.argv[2], Path(sys.argv[3]))
        return
    counts = [int(word) for word in sys.argv[1:] if word.isdigit()]
    scalars = counts[0] if counts else 1_000_000
    present = [name for name, (module, _) in PEERS.items() if find_spec(module)]
    for name, (_, install) in PEERS.items():
        if name not in present:
            print(f"{name}: not installed ({install})")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        agreed = torch_agrees(root)
        if agreed is not None:
            print(f"the files are {'' if agreed else 'NOT '}byte for byte what PyTorch writes")
        for encoding, as_tensor in (("simple_value", False), ("tensor", True)):
            path = root / f"events.out.tfevents.{encoding}"
            write(path, run_of(TAGS, scalars), as_tensor)
            last_step = (scalars - 1) // len(TAGS)
            compare(path, encoding, last_step, [] if "--alone" in sys.argv else present)
        print(f"\n{OURS}, {min(scalars, REGIME_RECORDS):,} records of other kinds")
        for regime, rows in REGIMES.items():
            for as_tensor in (False, True):
                path = root / "events.out.tfevents.regime"
                write(path, rows(min(scalars, REGIME_RECORDS)), as_tensor)
                costs = [measure(OURS, path) for _ in range(REPEATS)]
                each = statistics.median(float(cost["cpu"]) for cost in costs) / float(costs[0]["points"])
                encoding = "tensor" if as_tensor else "simple_value"
                print(f"{regime:16} {encoding:13} {each * 1e9:6.0f} ns a record", flush=True)


if __name__ == "__main__":
    main()
