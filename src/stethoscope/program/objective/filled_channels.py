"""Whether zeros are left over in some channels of an array that is filled from its first channel on."""

from __future__ import annotations

import ast

from stethoscope.program.objective.array_statements import words_of

# fmt: off
CHANNEL_WORDS = frozenset({
    "channel", "channels", "chan", "chans", "ch", "band", "bands", "rgb", "plane", "planes", "spectral",
    "colour", "color", "stain", "stains", "modality", "modalities", "mic", "mics", "microphones", "lead",
    "leads", "electrode", "electrodes", "sensor", "sensors", "coil", "coils", "antenna", "antennas",
    "wavelengths", "polarisations", "polarizations", "stereo", "contrasts", "exposures", "montage",
    "polarization", "polarisation",
})
# What says that pictures or recordings with fewer channels than usual are meant.
FEWER_WORDS = frozenset({
    "gray", "grey", "grays", "greys", "mono", "monochrome", "grayscale", "greyscale", "panchromatic",
})
# fmt: on


def fills_channels(zeros: ast.Call, written: ast.Subscript) -> bool:
    """`image = zeros(channels, h, w)` and `image[:n] = grey`: the axis that is cut has the channels."""
    sizes = _sizes(zeros)
    places = written.slice.elts if isinstance(written.slice, ast.Tuple) else [written.slice]
    cut = [axis for axis, place in enumerate(places) if isinstance(place, ast.Slice) and place.upper]
    if len(cut) != 1 or cut[0] >= len(sizes) or len(sizes) < 2:
        return False
    place, size = places[cut[0]], sizes[cut[0]]
    if any(isinstance(one, ast.Starred) for one in sizes[: cut[0] + 1]) or not isinstance(place, ast.Slice):
        return False
    begins = place.lower is None or getattr(place.lower, "value", None) == 0
    return begins and place.step is None and bool(CHANNEL_WORDS.intersection(words_of(size)))


def _sizes(zeros: ast.Call) -> list[ast.expr]:
    first = zeros.args[0] if zeros.args else next((k.value for k in zeros.keywords if k.arg == "size"), None)
    if isinstance(first, ast.Tuple | ast.List) and len(zeros.args) < 3:
        return first.elts
    return list(zeros.args)
