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

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.objective.spread_forms import DEVIATION, PRECISION, VARIANCE, Form, Spread
from stethoscope.run import Fix, Level
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
            fix=_fix(spread),
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


def _fix(spread: Spread) -> Fix | None:
    """The spread turned into the form that is needed, where it stands by its name."""
    form, given = spread.form, _given(spread)
    if given is None or form.power is None or spread.wanted <= 0:
        return None
    node, name, is_log = given
    if is_log is not form.is_log:
        return None
    share = spread.wanted / form.power
    inner = name if share == 1 else f"({share:g} * {name})"
    splice = replaced(spread.used.source, node, f"{inner}.exp()")
    return Fix(f"make {WANTED[spread.wanted]} of it", Level.UNSAFE, (splice,)) if splice is not None else None


def _given(spread: Spread) -> tuple[ast.expr, str, bool] | None:
    """Where the spread is written, its name, and whether the name stands there for itself or behind exp()."""
    match spread.used.node:
        case ast.Call(args=[_, _, given]) | ast.BinOp(op=ast.Div(), right=given) if is_name_chain(given):
            return given, ast.unparse(given), True
        case ast.Call(func=func, args=[_, given]) if ast.unparse(func).endswith("Normal") and is_name_chain(
            given
        ):
            return given, ast.unparse(given), True
        case (
            ast.BinOp(
                op=ast.Mult(), left=ast.Call(func=ast.Attribute(value=name, attr="exp"), args=[]) as given
            )
            | ast.BinOp(
                op=ast.Mult(), right=ast.Call(func=ast.Attribute(value=name, attr="exp"), args=[]) as given
            )
        ) if is_name_chain(name):
            return given, ast.unparse(name), False
    return None
