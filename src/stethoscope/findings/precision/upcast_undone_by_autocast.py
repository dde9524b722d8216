"""A value is cast to float32, and the next operation casts it back to half.

## What it checks
Inside an autocast region: `.float()` or `.to(torch.float32)` of a half value that goes straight, or through
views only, into a convolution, a linear layer, a matrix product, an einsum or attention; and matrix products
of what was cast for them: powers or spectra that were computed behind such a cast, factors that were all cast
and only normalised, centred or scaled since, a factor that is cast where it is multiplied.

## Why it matters
Autocast runs these in half whatever they get, so the cast costs memory and time and changes nothing: whoever
wrote it meant this step to be in float32, and it is not. Products of large values still overflow.

## When it is harmless
Inside `torch.autocast(..., enabled=False)` the cast holds. Where the float32 value also goes into
arithmetic, a norm, an FFT, a loss or anything else that keeps it, it has its use and is not reported. A cast
of integers or of data that was float32 before is not reported either.

## References
- torch.amp, "CUDA Ops that can autocast to float16"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import Function
from stethoscope.program.precision.autocast import HALVES, DType
from stethoscope.program.precision.half_sections import HalfSections
from stethoscope.program.precision.tensor_calls import Body, TensorCall
from stethoscope.program.walk.values import span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

# fmt: off
VIEWS = frozenset({
    "transpose", "permute", "reshape", "view", "contiguous", "flatten", "unsqueeze", "squeeze", "expand", "t",
    "unflatten", "swapaxes", "movedim", "rearrange", "clone", "detach",
})
PRODUCTS = frozenset({
    "matmul", "mm", "bmm", "einsum", "mv", "addmm", "baddbmm", "linear", "conv1d", "conv2d", "conv3d",
})
POWERS = frozenset({"stft", "square", "pow", "rfft", "fft", "rfft2", "fft2", "spectrogram"})
# fmt: on
SCALING = frozenset({"normalize", "mul", "div", "dropout", "where", "masked_fill", "clamp"})
DEEPEST = 3  # calls of own functions that a value is followed into
DEEPEST_CHAIN = 8  # steps back from a factor to the cast


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each cast that the next operation undoes."""
    bodies = list(half.sections.bodies())
    known = {body.function: body for body in bodies if isinstance(body.function, Function)}
    for body in bodies:
        reported: set[ast.expr] = set()
        for node in body.nodes:
            operand = _upcast(half.sections, body, node)
            if operand is None or not isinstance(node, ast.expr):
                continue
            undone = _undone_by(half.sections, body, node, known)
            if undone is None or undone in reported:
                continue
            reported.add(undone)
            yield Finding(
                where=(body.source.where(node), body.source.where(undone)),
                message=f"`{body.text(node)}` is cast back to half at once: autocast runs "
                f"`{_shown(body, undone)}` in half whatever it gets",
                evidence={"cast": body.text(node), "undone_by": body.text(undone), "function": body.spoken},
                proof="the operation is on autocast's list of those that run in half",
                strength=0.8 if half.sections.is_certain(node) else 0.5,
                fix=_fix(half.sections, body, undone),
            )
        yield from _powers(half.sections, body, reported)


def _powers(half: HalfSections, body: Body, reported: set[ast.expr]) -> Iterator[Finding]:
    """Products of what was computed in float32 on purpose: powers and spectra behind a cast."""
    for node in body.nodes:
        if not isinstance(node, ast.expr) or node not in half.lowered or node in reported:
            continue
        for operand in _factors(body, node):
            cast = _cast_behind(half, body, operand)
            if cast is None or not _is_meant(half, body, operand, node):
                continue
            reported.add(node)
            yield Finding(
                where=(body.source.where(cast), body.source.where(node)),
                message=f"`{body.text(operand)}` is computed in float32, and autocast runs "
                f"`{_shown(body, node)}` of it in half: large values become inf, small ones 0",
                evidence={"cast": body.text(cast), "undone_by": body.text(node), "function": body.spoken},
                proof="the operation is on autocast's list of those that run in half",
                strength=0.7 if _is_always_in_region(half, node) else 0.4,
                fix=_fix(half, body, node),
            )
            break


def _is_meant(half: HalfSections, body: Body, operand: ast.expr, node: ast.expr) -> bool:
    """Whether a product of float32 values was meant to run in float32."""
    if _grows(body, operand) or _is_cast_again(body, node) or _is_kept_for(half, body, node):
        return True
    return _is_cast_on_the_spot(half, body, operand)


def _factors(body: Body, node: ast.expr) -> tuple[ast.expr, ...]:
    """What a product is made of; none for a learned layer, whose input autocast is meant to cast."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    call = body.call(node)
    if call is None or call.name not in PRODUCTS:
        return ()
    return call.operand, *call.args


def _cast_behind(half: HalfSections, body: Body, operand: ast.expr) -> ast.expr | None:
    """The cast to float32 that a float32 value goes back to in this function."""
    noted = half.of(operand)
    if noted is None or noted.dtypes != {DType.FLOAT32}:
        return None
    for part in body.reach(operand):
        call = body.call(part)
        if call is not None and not call.full.startswith("torch") and _asks_for_single(body, call):
            return None if _is_count_or_mask(call.operand) else part
    return None


def _is_count_or_mask(node: ast.expr) -> bool:
    """Whether something has to be cast because it is no floating number: `(lengths > 0).float()`."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Compare)


def _is_kept_for(half: HalfSections, body: Body, node: ast.expr) -> bool:
    """Whether all factors of a product were cast and only scaled since: the product is what that is for.

    Autocast normalises in float32 by itself.
    """
    factors = _factors(body, node)
    return len(factors) > 1 and all(_is_scaled_cast(half, body, factor) for factor in factors)


def _is_cast_on_the_spot(half: HalfSections, body: Body, operand: ast.expr) -> bool:
    """Whether a factor is cast where it is multiplied, though it was float32: `a.float() @ b`."""
    for part in _without_scale(half, body, operand):
        call = body.call(_behind_views(body, part))
        if call is not None and not call.full.startswith("torch") and _asks_for_single(body, call):
            noted = half.of(call.operand)
            return noted is not None and noted.dtypes <= HALVES | {DType.FLOAT32}
    return False


def _without_scale(half: HalfSections, body: Body, node: ast.expr) -> Iterator[ast.expr]:
    """A factor, and what is left of it without a number or parameter that scales it."""
    yield node
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            for one, other in ((left, right), (right, left)):
                if not _is_made_of(body, other):
                    yield from _without_scale(half, body, one)


def _is_made_of(body: Body, node: ast.expr) -> bool:
    """Whether a cast to float32 is anywhere in what a value is made of."""
    calls = (body.call(part) for part in body.reach(node))
    return any(call is not None and _asks_for_single(body, call) for call in calls)


def _behind_views(body: Body, node: ast.expr) -> ast.expr:
    """What a view is of: `x` of `x.flatten(1).T`."""
    for _ in range(DEEPEST_CHAIN):
        call = body.call(node)
        if isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}:
            node = node.value
        elif call is not None and call.name in VIEWS:
            node = call.operand
        else:
            break
    return node


def _is_scaled_cast(half: HalfSections, body: Body, node: ast.expr, depth: int = DEEPEST_CHAIN) -> bool:
    """Whether a value is a cast with nothing behind it but views, a normalisation, and plain arithmetic.

    What functions of the repository are handed on the way counts as theirs to give back: a gathering over
    ranks, a dropout.
    """
    node = _behind_views(body, body.definition(_behind_views(body, node)))
    if depth == 0:
        return False
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Sub() | ast.Add(), right=right):
            casts = [_is_scaled_cast(half, body, one, depth - 1) for one in (left, right)]
            others = [one for one, is_cast in zip((left, right), casts, strict=True) if not is_cast]
            return any(casts) and not any(_is_half(half, one) for one in others)
        case ast.Call(func=func, args=[first, *_]) if half.reached.get(node):
            return not isinstance(func, ast.Attribute) and _is_scaled_cast(half, body, first, depth - 1)
    call = body.call(node)
    if call is None:
        return False
    if _asks_for_single(body, call) and not call.full.startswith("torch"):
        noted = half.of(call.operand)  # a count or a mask has to be cast
        return noted is not None and bool(noted.dtypes & (HALVES | {DType.FLOAT32}))
    return call.name in SCALING and _is_scaled_cast(half, body, call.operand, depth - 1)


def _is_half(half: HalfSections, node: ast.expr) -> bool:
    noted = half.of(node)
    return noted is not None and bool(noted.dtypes & HALVES)


def _grows(body: Body, operand: ast.expr) -> bool:
    """Whether a value is a power or a spectrum: too large or too small for half sooner than others."""
    for part in body.reach(operand):
        call = body.call(part)
        if call is not None and (call.name in POWERS or call.full.startswith("torch.fft.")):
            return True
        match part:
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() | float() as power)) if power >= 2:
                return True
    return False


def _is_cast_again(body: Body, node: ast.expr) -> bool:
    """Whether the result is cast to float32 at once: it was meant to be that all along."""
    parent = body.parents.get(_through_views(body, node))
    around = body.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    call = body.call(around) if around is not None else None
    return call is not None and _asks_for_single(body, call)


def _is_always_in_region(half: HalfSections, node: ast.expr) -> bool:
    noted = half.of(node)
    return noted is not None and all(mode.half is not None for mode in noted.modes)


def _upcast(half: HalfSections, body: Body, node: ast.AST) -> ast.expr | None:
    """The half value that a node casts to float32 inside autocast."""
    call = body.call(node)
    if call is None or call.full.startswith("torch"):
        return None
    asks = _asks_for_single(body, call)
    noted = half.of(call.operand)
    here = half.of(call.node)
    if not asks or noted is None or here is None or not noted.dtypes & HALVES:
        return None
    inside = all(mode.half is not None for mode in here.modes)
    return call.operand if inside and here.dtypes == {DType.FLOAT32} else None


def _asks_for_single(body: Body, call: TensorCall) -> bool:
    if call.name in {"to", "type"}:
        given = (*call.args, *call.keywords.values())
        return any(body.outside(one) in {"torch.float32", "torch.float"} for one in given)
    return call.name == "float" and not call.args


def _undone_by(
    half: HalfSections, body: Body, node: ast.expr, known: Mapping[Function, Body], depth: int = DEEPEST
) -> ast.expr | None:
    """The operation that casts a value back, where that is all that becomes of it."""
    current = _through_views(body, node)
    parent = body.parents.get(current)
    if isinstance(parent, ast.keyword):
        parent = body.parents.get(parent)
    if isinstance(parent, ast.expr) and parent in half.lowered:
        return parent
    if isinstance(parent, ast.Call) and depth:
        return parent if _is_undone_inside(half, parent, current, known, depth - 1) else None
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is current:
            return _undone_uses(half, body, name, parent.lineno, parent.value, known, depth)
        case ast.Tuple(elts=values):
            around = body.parents.get(parent)
            match around:
                case ast.Assign(targets=[ast.Tuple(elts=targets)]) if len(targets) == len(values):
                    target = targets[values.index(current)]
                    if isinstance(target, ast.Name):
                        return _undone_uses(half, body, target.id, around.lineno, around.value, known, depth)
    return None


def _is_undone_inside(
    half: HalfSections, call: ast.Call, given: ast.expr, known: Mapping[Function, Body], depth: int
) -> bool:
    """Whether the function that a call leads to does nothing with an argument but cast it back."""
    reached = half.reached.get(call, set())
    return bool(reached) and all(
        (body := known.get(function)) is not None
        and (name := _parameter(function, call, given)) is not None
        and _undone_uses(half, body, name, 0, None, known, depth) is not None
        for function in reached
    )


def _parameter(function: Function, call: ast.Call, given: ast.expr) -> str | None:
    """The name under which a function gets an argument of a call."""
    for word in call.keywords:
        if word.value is given:
            return word.arg
    if given not in call.args or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    is_method = function.owner is not None and "staticmethod" not in function.decorators
    names = [arg.arg for arg in (*function.node.args.posonlyargs, *function.node.args.args)][is_method:]
    position = call.args.index(given)
    return names[position] if position < len(names) else None


def _through_views(body: Body, node: ast.expr) -> ast.expr:
    """The outermost view of a value: `x.float().transpose(1, 2)`."""
    while True:
        parent = body.parents.get(node)
        match parent:
            case ast.Attribute(attr=attr) if attr in VIEWS or attr in {"T", "mT"}:
                around = body.parents.get(parent)
                node = around if isinstance(around, ast.Call) and attr in VIEWS else parent
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in VIEWS and first is node:
                node = parent
            case _:
                return node


def _undone_uses(
    half: HalfSections,
    body: Body,
    name: str,
    begin: int,
    made: ast.expr | None,
    known: Mapping[Function, Body],
    depth: int,
) -> ast.expr | None:
    """The first operation that casts back, where every use of a name until its next assignment does."""
    ends = [line for line, value in body.definitions.get(name, ()) if value is not made]
    end = min((line for line in ends if line > begin), default=None)
    found: list[ast.expr] = []
    for node in body.nodes:
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        if node.lineno <= begin or (end is not None and node.lineno > end):
            continue
        outer = _through_views(body, node)
        parent = body.parents.get(outer)
        if isinstance(parent, ast.Attribute) and parent.attr in {"shape", "dtype", "device", "ndim"}:
            continue
        if isinstance(parent, ast.Attribute) and parent.attr in {"size", "dim", "numel"}:
            continue
        if isinstance(parent, ast.expr) and parent in half.lowered:
            found.append(parent)
            continue
        if isinstance(parent, ast.Assign) and depth and isinstance(parent.targets[0], ast.Name):
            again = parent.targets[0].id  # a view of it under another name, or under its own
            later = _undone_uses(half, body, again, parent.lineno, parent.value, known, depth - 1)
            if later is None:
                return None
            found.append(later)
            continue
        if not isinstance(parent, ast.Call) or depth <= 0:
            return None
        if not _is_undone_inside(half, parent, outer, known, depth - 1):
            return None
        found.append(parent)
    return found[0] if found else None


def _shown(body: Body, node: ast.expr) -> str:
    return body.text(node.func) if isinstance(node, ast.Call) else body.text(node)


def _fix(half: HalfSections, body: Body, undone: ast.expr) -> Fix | None:
    """Autocast switched off around the statement, where all that goes into the operation is float32."""
    statement = body.statement(undone)
    span = span_of(body.source, statement) if statement is not None else None
    if span is None or not isinstance(statement, ast.Assign | ast.Return | ast.Expr):
        return None
    given = (
        [undone.left, undone.right] if isinstance(undone, ast.BinOp) else list(getattr(undone, "args", ()))
    )
    if (
        not all(_is_single(half, one) for one in given)
        or body.outside(ast.Name("torch", ast.Load())) != "torch"
    ):
        return None
    before = body.source.text[: span[0]].rpartition("\n")[2]
    # What a name passes on is computed in lines above, which belong into the block as well.
    begin = span[0]
    for _ in range(statement.lineno - undone.lineno):
        begin = body.source.text.rindex("\n", 0, begin - len(before) - 1) + 1 + len(before)
    written = body.source.text[begin : span[1]]
    if before.strip() or '"""' in written:
        return None
    inner = written.replace(f"\n{before}", f"\n{before}    ")
    text = f'with torch.autocast("cuda", enabled=False):\n{before}    {inner}'
    splice = Splice(body.source.file, begin, span[1], text)
    return Fix("switch autocast off for this statement", Level.UNSAFE, (splice,))


def _is_single(half: HalfSections, node: ast.expr) -> bool:
    noted = half.of(node)
    return noted is not None and noted.dtypes <= {DType.FLOAT32, DType.NUMBER}
