"""An output stands for one quantity, and the loss takes it for another form of it.

## What it checks
The spread of a Gaussian is followed from where its author names it (`log_var`, `logstd`) through `exp`,
halves, roots and squares to where it is used: a Gaussian likelihood, by a class or by hand, and the
divergence of a variational coder need a variance, a `Normal` and a draw `mean + spread * noise` a deviation.
Boxes are compared by the form that they are called or written in: corners (`xyxy`) or a point with an extent
(`cxcywh`, `xywh`); overlaps of torchvision need corners.

## Why it matters
A logarithm taken for a variance is negative half of the time, and is clamped or folded: confident and unsure
are mixed up. Boxes in two forms have the same shape, so that nothing fails; half of the coordinates learn
something that they are not used for.

## When it is harmless
Where the name is wrong and not the number. What is made by `softplus` or by other means than `exp` is not
judged, nor is a name that says nothing of logarithms.

## References
- torch.nn.GaussianNLLLoss, argument `var`; torch.distributions.Normal, argument `scale`
- torchvision.ops.box_convert
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.spread_forms import DEVIATION, PRECISION, VARIANCE, Form
from stethoscope.signals.output_forms import OutputForms

RULE = Rule(code="OBJ108", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

WANTED = {
    VARIANCE: "a variance",
    DEVIATION: "a standard deviation",
    PRECISION: "the inverse of a variance",
}


def examine(forms: OutputForms) -> Iterator[Finding]:
    """Report each output that is taken for another form of what it stands for."""
    for spread in forms.spreads:
        wanted = WANTED[spread.wanted]
        yield Finding(
            where=tuple(dict.fromkeys((spread.used.where, spread.sink.where))),
            message=f"{wanted} is needed here, and {_spoken(spread.form)} is given",
            evidence={"used": spread.used.text, "named": spread.form.name},
        )
    for pair in forms.boxes:
        yield Finding(
            where=tuple(dict.fromkeys((pair.compared.where, pair.sink.where))),
            message=f"boxes as {pair.given} are compared as if they were {pair.wanted}",
            evidence={"compared": pair.compared.text},
        )


def _spoken(form: Form) -> str:
    if form.is_log:
        return f"the logarithm {form.name}"
    kind = "the variance" if form.power == VARIANCE else "the standard deviation"
    return f"{kind} of {form.name}" if form.power in {1.0, VARIANCE} else f"another power of {form.name}"
