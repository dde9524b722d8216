"""Half precision overflows in the forward pass, whatever the loss scale.

## How it works
An activation, a variance, an FFT coefficient or a loss term exceeds 65504 in fp16. Lowering the loss scale
cannot help, so every hit halves it; when hits come more often than one in about 2,900 steps (growth interval
2,000), the scale goes down for good and every step is skipped.

## How to tell it from its look-alikes
A healthy scaler backs off too, but then overflows stop: its skips depend on the scale. Here they do not.
A falling scale is overflow, never underflow.

## What cures it
Run the overflowing module in fp32 (cast its inputs and switch autocast off around it), or train in bf16.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome
from stethoscope.findings import Finding


def _not_backward(finding: Finding) -> bool:
    return finding.evidence.get("overflow_in") != "backward"


def _in_half_precision(finding: Finding) -> bool:
    return finding.evidence.get("scaler_logged") is True


CAUSE = Cause(
    title="fp16 overflows in the forward pass",
    prior=COMMON,
    evidence=(
        Evidence(
            "loss-scale-collapse",
            STRONG,
            "the scale keeps falling although lower scales do not stop the overflows",
            when=_not_backward,
        ),
        Evidence("loss-scale-at-zero", MODERATE, "the scale reached zero, where nothing can bring it back"),
        Evidence(
            "non-finite-values", MODERATE, "values are not finite in half precision", when=_in_half_precision
        ),
        Evidence("fft-in-half", STRONG, "a Fourier transform runs in float16"),
        Evidence("overflowing-sum-in-half", STRONG, "an exponential or a sum of squares runs in float16"),
        Evidence(
            "upcast-undone-by-autocast",
            WEAK,
            "a step that was meant to run in float32 runs in half precision",
        ),
        Evidence("gated-product-in-half", WEAK, "a product of two activations runs in float16"),
        Evidence("loss-scale-collapse", -STRONG, "the scale does not collapse", outcome=Outcome.CLEAR),
    ),
    confirm_by="replay a recorded bad batch in fp32: finite there and not in fp16 means forward overflow",
    leads_to=("loss-scale-at-zero", "parameters-not-updated"),
)
