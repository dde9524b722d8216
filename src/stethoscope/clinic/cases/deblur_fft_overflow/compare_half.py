"""Compare the emulated half precision of this case with a GPU's: python compare_half.py [cuda]

The same network, weights and batch go through one step on both: under `emulated_half` on the CPU, and under
CUDA's own autocast. Every tensor that a function gives is compared, and every gradient. The queries' gain is
raised until something overflows, so that the table also shows *which* tensors do. Last, a short training on
both shows the loss scale step by step.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from stethoscope.clinic.cases.deblur_fft_overflow.case import CASE
from stethoscope.clinic.edit import copy_files

GAINS = (1.0, 1.5, 3.0)  # times the gain of the case: at 1 the forward pass is finite, at 3 it is not
SCALES = (1.0, 65536.0)  # the larger makes gradients overflow where the forward pass does not
STEPS = 60
LEARNING_RATE = 0.01
WATCHED = ("conv2d", "rfft2", "irfft2", "mul", "gelu", "var", "mean", "div", "add", "sub", "sqrt", "l1_loss")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one function gave: its name, the type of what it gave, and the values."""

    name: str
    dtype: str
    values: Tensor


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of tensor on both devices. `apart` is relative to the largest value."""

    name: str
    tensors: int
    apart: float
    infinite_emulated: int
    infinite_on_device: int
    agreed: float  # the share of elements that are finite on both or on neither


def main() -> None:
    """Print the tables, for the device that is named first on the command line."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        print("compare_half: there is no CUDA device here, and that is what the emulation is compared with")
        sys.exit(2)
    with sick_project():
        for gain in GAINS:
            for scale in SCALES:
                print(f"\nqueries and keys x{gain:g}, loss x{scale:g}")
                print_table(compare(device, gain, scale))
        print("\nloss scale in a training, emulated and on the device")
        print_trainings(train("cpu", STEPS), train(device, STEPS))


@contextmanager
def sick_project() -> Iterator[None]:
    """Have the sick project's modules importable for a while."""
    size = next(size for size in CASE.sizes if size.name == "small")
    with tempfile.TemporaryDirectory() as folder:
        copy_files(CASE.project, CASE.sources, Path(folder), size.edits)
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            sys.path.remove(folder)
            for name in [name for name in sys.modules if name.partition(".")[0] in {"deblur", "half"}]:
                del sys.modules[name]


def compare(device: str, gain: float, scale: float) -> list[Row]:
    """One step on the CPU, emulated, and on `device`; what each function gave, and each gradient."""
    emulated, on_device = (_step(where, gain, scale) for where in ("cpu", device))
    calls, other_calls = ([one.name for one in seen] for seen in (emulated, on_device))
    if calls != other_calls:
        raise RuntimeError(f"the devices called different functions:\n{calls}\n{other_calls}")
    kinds: dict[str, list[tuple[Tensor, Tensor]]] = {}
    for one, other in zip(emulated, on_device, strict=True):
        types = one.dtype if one.dtype == other.dtype else f"{one.dtype}, on the device {other.dtype}"
        kinds.setdefault(f"{one.name} ({types})", []).append((one.values, other.values))
    return [_row(name, pairs) for name, pairs in kinds.items()]


def train(device: str, steps: int) -> list[tuple[float, float]]:
    """Train for some steps; the loss and the loss scale after each."""
    model, criterion = _network(device, gain=1.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    scaler = torch.amp.GradScaler(device)
    batches = [_batch(device, step) for step in range(8)]
    history = []
    with _half().emulated_half(device):
        for step in range(steps):
            blurred, sharp = batches[step % len(batches)]
            optimizer.zero_grad()
            with torch.amp.autocast(device_type=device):
                loss = criterion(model(blurred), {"sharp_image": sharp})
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            history.append((float(loss.detach()), scaler.get_scale()))
    return history


def print_table(rows: list[Row]) -> None:
    """Print one line per kind of tensor."""
    print(f"{'what':26}{'tensors':>8}{'apart':>10}{'not finite: emulated':>22}{'device':>9}{'agreed':>9}")
    for row in rows:
        infinite = f"{row.infinite_emulated:22}{row.infinite_on_device:9}"
        print(f"{row.name:26}{row.tensors:8}{row.apart:10.1e}{infinite}{row.agreed:9.2%}")


def print_trainings(emulated: list[tuple[float, float]], on_device: list[tuple[float, float]]) -> None:
    """Print every fifth step of two trainings."""
    print(f"{'step':>5}{'loss':>12}{'loss':>12}{'scale':>12}{'scale':>12}")
    for step in range(0, len(emulated), 5):
        (loss, scale), (other_loss, other_scale) = emulated[step], on_device[step]
        print(f"{step:5}{loss:12.5f}{other_loss:12.5f}{scale:12.5g}{other_scale:12.5g}")


class _Recorder(TorchFunctionMode):
    """Keeps what every watched function gives."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").strip("_").removeprefix("true").removeprefix("fft_")
        if name in WATCHED and isinstance(given, Tensor):
            self.seen.append(Seen(name, _short(given.dtype), _on_cpu(given)))
        return given


def _step(device: str, gain: float, scale: float) -> list[Seen]:
    model, criterion = _network(device, gain)
    blurred, sharp = _batch(device, 0)
    # The emulation is entered first: what is recorded is what it gave.
    with _half().emulated_half(device), _Recorder() as recorder, torch.amp.autocast(device_type=device):
        loss = criterion(model(blurred), {"sharp_image": sharp})
    (scale * loss).backward()
    gradients = [
        Seen(f"gradients of {name.rpartition('.')[2]}", _short(parameter.grad.dtype), _on_cpu(parameter.grad))
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    ]
    return [*recorder.seen, *gradients]


def _network(device: str, gain: float) -> tuple[nn.Module, nn.Module]:
    arch, losses = importlib.import_module("deblur.arch"), importlib.import_module("deblur.losses")
    torch.manual_seed(0)
    model = arch.FFTMini(12, 2, 2, 8)
    with torch.no_grad():
        for block in model.blocks:
            for parameter in block.attention.to_hidden_dw.parameters():
                parameter[:24] *= gain
    return model.to(device), losses.LossContainer({"sharp_image": losses.CombinedLoss(1.0, 0.1)})


def _batch(device: str, index: int) -> tuple[Tensor, Tensor]:
    data = importlib.import_module("deblur.data")
    pairs = [data.draw_pair(1_000 + 4 * index + item, 32) for item in range(4)]
    blurred, sharp = (torch.stack(images).to(device) for images in zip(*pairs, strict=True))
    return blurred, sharp


def _half() -> Any:
    return importlib.import_module("half")


def _on_cpu(values: Tensor) -> Tensor:
    values = values.detach().cpu()
    if values.is_complex():
        values = torch.view_as_real(values.resolve_conj())
    return values.double()


def _row(name: str, pairs: list[tuple[Tensor, Tensor]]) -> Row:
    emulated = torch.cat([one.flatten() for one, _ in pairs])
    on_device = torch.cat([other.flatten() for _, other in pairs])
    finite, other_finite = emulated.isfinite(), on_device.isfinite()
    both = finite & other_finite
    largest = float(emulated[both].abs().max()) if bool(both.any()) else 1.0
    apart = float((emulated - on_device)[both].abs().max()) / max(largest, 1e-30) if bool(both.any()) else 0.0
    return Row(
        name,
        len(pairs),
        apart,
        int((~finite).sum()),
        int((~other_finite).sum()),
        float((finite == other_finite).double().mean()),
    )


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


if __name__ == "__main__":
    main()
