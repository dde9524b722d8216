"""The noise does not follow the schedule that the settings ask for.

## How it works
A key of the noise schedule is read by a schedule of another kind, by nothing, or is replaced on the way: a
log-linear schedule knows no largest sigma. Runs that differ in that key alone are the same run.

## How to tell it from its look-alikes
Change the key and run five steps: losses stay equal to the last bit. Where corruption and network are told
different levels the key does act, on one of the two.

## What cures it
Set the key that the schedule in use reads, or hand the value on to where noise is drawn.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, Cause, Evidence
from stethoscope.findings import Finding
from stethoscope.program.likenesses import words

NOISE = frozenset({"sigma", "sigmas", "noise", "beta", "timesteps", "timestep", "snr", "logsnr", "diffusion"})
OTHERS = frozenset({"label", "adam", "seed", "optimizer", "ema", "loss", "weight"})


def _of_noise(finding: Finding) -> bool:
    spoken = set(words(str(finding.evidence.get("setting", finding.evidence.get("key", "")))))
    return bool(spoken & NOISE) and not spoken & OTHERS


CAUSE = Cause(
    title="The noise schedule ignores its settings",
    prior=OCCASIONAL,
    evidence=(
        Evidence("schedule-drawn-in-part", DECISIVE, "no step of its end is ever drawn"),
        Evidence("setting-never-used", DECISIVE, "nothing draws noise by this setting", when=_of_noise),
        Evidence(
            "setting-overwritten", DECISIVE, "the setting is replaced before noise is drawn", when=_of_noise
        ),
        Evidence("unknown-setting", DECISIVE, "the schedule does not know the key", when=_of_noise),
        Evidence(
            "network-told-another-noise-level",
            -STRONG,
            "the levels act, and network and corruption are told different ones",
        ),
    ),
    confirm_by="run five steps with the key changed: losses stay bit-identical",
    leads_to=("setting-ignored",),
    shows=(
        "peak-then-decline",
        "below-trivial-baseline",
    ),
)
