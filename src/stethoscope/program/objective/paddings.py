"""The kinds of padding in what a batch is made of: of sequences, and of channels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.objective.empty_channels import pads_channels, pads_first_axis
from stethoscope.program.objective.padded_tokens import pads_tokens, unless_taken_out
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Part, Site, Value

_RECORDINGS = re.compile(r"torchaudio\.|soundfile\.|librosa\.|wavfile\.|^wave\.|audioread|pydub")
TOKENS, CHANNELS = "tokens", "channels"


def paddings(run: Execution, value: Value) -> Iterator[tuple[str, Site]]:
    """Where something is padded on the way to a value, with its kind."""
    for one in ingredients(run, value, leading=unless_taken_out):
        if isinstance(one, Applied):
            is_plane = one.callee.rpartition(".")[2] == "pad" and pads_first_axis(one)
            if not is_plane and pads_tokens(one) and not is_sound(run, one):
                yield TOKENS, one.site
            elif pads_channels(one):
                yield CHANNELS, one.site


def is_sound(run: Execution, value: Value) -> bool:
    """Whether a value is a recording: what is added to it is silence, which is part of the signal."""
    made = (one.callee for one in ingredients(run, value) if isinstance(one, Applied))
    return any(_RECORDINGS.search(callee) for callee in made)


def is_size(value: Value) -> bool:
    """`len(batch)`, `ids.shape`, `ids.argmax(-1)`: a number about data that holds none of it."""
    match value:
        case Applied(callee="len" | ".size" | ".numel" | ".dim" | ".argmax" | "torch.argmax"):
            return True
        case Part(key="shape" | "ndim" | "dtype" | "device"):
            return True
    return False
