"""A gradient scaler is at work although the forward pass runs in bfloat16.

## What it checks
Training loops that step through a `GradScaler` which is switched on while the loop's autocast regions are
bfloat16, always or under some settings. A switch that asks only about the device or about mixed precision as
a whole (`enabled=device.type == "cuda"`, `dtype is not None`) leaves it on.

## Why it matters
bfloat16 has the range of float32, so nothing underflows that a scale could save. The scaler still reads
every gradient on each step and waits for the device, its scale doubles every 2000 steps for no reason, and a
logged scale misleads whoever reads it.

## When it is harmless
A scaler with `enabled=False`, or one whose switch depends on the dtype, does nothing. A scaler that is
switched on costs time, not accuracy; some keep it because it skips steps with NaN gradients.

## References
- torch.amp.GradScaler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.loop.moves import Kind
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.loop_precision import LoopPrecision, Region
from stethoscope.program.precision.scaler_switches import is_on_under_bfloat16
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Applied, Site, span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.loop_precisions import LoopPrecisions

RULE = Rule(code="PRC107", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

TYPE_WORDS = ("float16", "fp16", "bf16", "half")


def examine(precisions: LoopPrecisions) -> Iterator[Finding]:
    """Report each scaler that works under bfloat16."""
    reported: set[ast.AST] = set()
    for precision in precisions:
        if not precision.regions or not precision.loop.of(Kind.SCALER_STEP):
            continue
        if not all(region.autocast.may_be(DType.BFLOAT16) for region in precision.regions):
            continue
        for scaler in precision.scalers:
            if scaler.site.node in reported or _is_made_for_float16(scaler.site):
                continue
            if _is_on(precision, scaler):
                reported.add(scaler.site.node)
                yield _finding(scaler, precision.regions)


def _finding(scaler: Applied, regions: Sequence[Region]) -> Finding:
    always = all(region.autocast.only(DType.BFLOAT16) for region in regions)
    when = "although autocast is" if always else "also where autocast is"
    return Finding(
        where=(scaler.site.where, regions[0].site.where),
        message=f"the gradient scaler is on {when} bfloat16, which needs no scale",
        evidence={"scaler": scaler.site.text, "region": regions[0].site.text},
        fix=_fix(scaler) if always else None,
    )


def _is_on(precision: LoopPrecision, scaler: Applied) -> bool:
    """Whether the scaler works wherever autocast does."""
    on = is_on_under_bfloat16(scaler.keywords.get("enabled"))
    if on is not None:
        return on
    written = _switch(scaler.site)
    return bool(written) and any(_switch(region.site) == written for region in precision.regions)


def _is_made_for_float16(site: Site) -> bool:
    """Whether a scaler is made only where a question about the type of numbers, or about float16, says so."""
    nodes = all_nodes(site.source.tree)
    tests = [
        node.test
        for node in nodes
        if isinstance(node, ast.If | ast.IfExp) and any(inner is site.node for inner in all_nodes(node))
    ]
    asked = {inner.id for test in tests for inner in all_nodes(test, ast.Name)}
    answers = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign) and any(dotted(target) in asked for target in node.targets)
    ]
    written = " ".join(map(ast.unparse, (*tests, *(answers if tests else ())))).lower()
    return any(word in written for word in TYPE_WORDS)


def _switch(site: Site) -> str:
    """The switch as it is written, or as the one name that holds it is assigned in the file."""
    words = site.node.keywords if isinstance(site.node, ast.Call) else []
    given = next((word.value for word in words if word.arg == "enabled"), None)
    if isinstance(given, ast.Name):
        assigned = [
            node.value
            for node in all_nodes(site.source.tree, ast.Assign)
            if any(dotted(target) == given.id for target in node.targets)
        ]
        given = assigned[0] if len(assigned) == 1 else given
    return ast.unparse(given) if given is not None else ""


def _fix(scaler: Applied) -> Fix | None:
    node, source = scaler.site.node, scaler.site.source
    if not isinstance(node, ast.Call):
        return None
    given = next((word.value for word in node.keywords if word.arg == "enabled"), None)
    span = span_of(source, given if given is not None else node)
    if span is None:
        return None
    if given is not None:
        splice = Splice(source.file, span[0], span[1], "False")
    else:
        comma = ", " if node.args or node.keywords else ""
        splice = Splice(source.file, span[1] - 1, span[1] - 1, f"{comma}enabled=False")
    return Fix("switch the scaler off", Level.UNSAFE, (splice,))
