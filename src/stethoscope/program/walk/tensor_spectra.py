"""Fourier transforms and the windows of sounds, on numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import Array, Operation


def fourier(transform: Operation, **usual: Any) -> Operation:
    """A Fourier transform with torch's arguments: sizes, dimensions and the normalisation."""
    name = next(iter(usual))

    def apply(x: Any, s: Any = None, dim: Any = None, norm: str | None = None, **given: Any) -> Any:
        chosen = given.get("n", s)
        return transform(x, chosen, **{name: usual[name] if dim is None else dim}, norm=norm)

    return apply


def window(shape: Operation) -> Operation:
    """A window of so many samples, periodic as torch makes them."""
    return lambda length, periodic=True, **_: shape(int(length) + 1)[:-1] if periodic else shape(int(length))


def frames(x: Any, dimension: int, size: int, step: int) -> Array:
    """`x.unfold(dimension, size, step)`: the frames along an axis, their samples last."""
    axis = dimension % np.ndim(x)
    found = np.lib.stride_tricks.sliding_window_view(x, int(size), axis=axis)
    return found[(slice(None),) * axis + (slice(None, None, int(step)),)]


def stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Array:
    """The spectra of overlapping frames, of sounds in one or two dimensions."""
    length = int(n_fft)
    if center:
        around = [(0, 0)] * (np.ndim(x) - 1) + [(length // 2, length // 2)]
        x = np.pad(x, around, mode="reflect")
    shape = np.ones(int(win_length or length)) if window is None else np.asarray(window, dtype=np.float64)
    missing = length - len(shape)
    shape = np.pad(shape, (missing // 2, missing - missing // 2))
    spectra = np.fft.rfft(frames(x, -1, length, int(hop_length or length // 4)) * shape)
    spectra = np.swapaxes(spectra / np.sqrt(length) if normalized else spectra, -1, -2)
    return spectra if return_complex else np.stack([spectra.real, spectra.imag], -1)
