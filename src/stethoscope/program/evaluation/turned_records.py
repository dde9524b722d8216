"""Records that are kept the wrong way round: the largest loss or the smallest accuracy as the best.

    if scores["loss"] > best:            is_best = loss > best_loss          best = max(runs, key=val_loss)
        best = scores["loss"]            best_loss = max(loss, best_loss)
        save(model)                      save(model, is_best)

and records that nothing can beat, because of the number they begin with.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.returned_scores import returned_scores
from stethoscope.program.evaluation.score_directions import NOTHING_KNOWN, Known, direction
from stethoscope.program.evaluation.told_directions import told_direction
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, bodies
from stethoscope.program.walk.values import Site
from stethoscope.run import Source
from stethoscope.run.names import HIGHER, LOWER

# fmt: off
TRAINS = ("backward(", "training_step", "Trainer(", ".fit(")
BEST_WORDS = frozenset({"best", "optimal", "record", "champion"})
# The one way a record may go whatever is in it: somebody looks for the worst.
UPWARDS = frozenset({"max", "maximum", "highest", "largest", "peak", "upper", "ceiling"})
DOWNWARDS = frozenset({"min", "minimum", "lowest", "smallest", "lower", "floor"})
WORST_WORDS = frozenset({
    "worst", "hard", "hardest", "bad", "fail", "failed", "failure", "diverged", "divergence", "outlier",
    "spike", "anomaly", "explosion", "rollback", "adversarial", "attack", "attacks", "adv", "perturb",
})
SAVING = frozenset({"save", "checkpoint", "snapshot", "ckpt", "copyfile", "dump", "deepcopy", "clone"})
KEPT_WORDS = frozenset({
    "epoch", "step", "iter", "iteration", "model", "state", "weights", "wts", "params", "dict", "net",
    "network", "checkpoint", "ckpt", "path", "patience", "counter", "wait", "stale", "improve",
    "improvement", "improved", "since", "trigger", "triggers", "bad", "is",
})
# Losses that may be negative.
BELOW_ZERO = (
    "nll", "elbo", "log_prob", "likelihood", "snr", "sdr", "wgan", "wasserstein", "critic", "-torch.mean",
    "-ssim", "- ssim", "policy", "entropy_coef", "-f.cosine", "arcface",
)
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class TurnedRecord:
    """A record whose comparison keeps the other end than its score asks for.

    `kept` says which values replace the record, `wanted` which are better ("" where only the number that it
    begins with, `begins`, tells that nothing ever replaces it).
    """

    site: Site
    score: str
    record: str
    kept: str
    wanted: str
    begins: Site | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Record:
    """A comparison of a score with a record that the score then replaces where `kept` says so."""

    node: ast.expr
    score: ast.expr
    record: ast.expr
    kept: str
    is_sure_to_begin: bool  # something else than the comparison may let the first score in
    arm: Sequence[ast.stmt]


@remembered
def turned_records(index: Index) -> tuple[TurnedRecord, ...]:
    """Look through every function of a program that trains."""
    sources = [module.source for module in index.modules.values()]
    if not any(word in source.text for source in sources for word in TRAINS):
        return ()
    found: dict[ast.AST, TurnedRecord] = {}
    below_zero = any(word in source.text.lower() for source in sources for word in BELOW_ZERO)
    for source in sources:
        if WORST_WORDS & set(words(source.module)):
            continue
        for body in bodies(source.tree):
            for one in _in_body(source, body, below_zero, returned_scores(index)):
                found.setdefault(one.site.node, one)
    return tuple(found.values())


def _in_body(
    source: Source, body: Sequence[ast.stmt], below_zero: bool, results: Mapping[str, str]
) -> Iterator[TurnedRecord]:
    statements = list(_statements(body))
    known = Known(_given_once(statements), results)
    for record in (*_compared(statements), *_flagged(statements)):
        if _speaks_of_worst(record) or not _is_kept(record):
            continue
        wanted = _wanted(record, known) or told_direction(record.score, statements)
        if wanted is not None and wanted != record.kept and not _is_meant(record):
            yield _turned(source, record, wanted)
        elif not record.is_sure_to_begin:
            yield from _never_beaten(source, record, wanted, below_zero)
    yield from _picked(source, statements, known)


def _turned(source: Source, record: _Record, wanted: str) -> TurnedRecord:
    return TurnedRecord(
        Site(source, record.node), ast.unparse(record.score), ast.unparse(record.record), record.kept, wanted
    )


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a body at any depth of blocks, without those of definitions inside it."""
    for statement in body:
        if isinstance(statement, FunctionNode | ast.ClassDef):
            continue
        yield statement
        for name in ("body", "orelse", "finalbody", "handlers"):
            yield from _statements(getattr(statement, name, None) or ())


def _given_once(statements: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """The names that one statement alone gives a value, with it; constants beside it only hold its place."""
    found: dict[str, list[ast.expr]] = {}
    for one in statements:
        if isinstance(one, ast.Assign):
            for target, value in _pairs(one):
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(value)
        elif isinstance(one, ast.AugAssign | ast.For):
            for name in all_nodes(one.target, ast.Name):
                found.setdefault(name.id, []).extend((name, name))
    made = {
        name: [one for one in values if not isinstance(one, ast.Constant)] or values
        for name, values in found.items()
    }
    return {name: values[0] for name, values in made.items() if len(values) == 1}


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif isinstance(node.value, ast.Tuple | ast.List) and not isinstance(target, ast.Tuple):
            for place, element in enumerate(node.value.elts):
                yield ast.Subscript(target, ast.Constant(place), ast.Load()), element
            yield target, node.value
        elif isinstance(node.value, ast.Dict):
            for key, element in zip(node.value.keys, node.value.values, strict=True):
                if key is not None:
                    yield ast.Subscript(target, key, ast.Load()), element
            yield target, node.value
        else:
            yield target, node.value


# Comparisons


def _compared(statements: Sequence[ast.AST]) -> Iterator[_Record]:
    """`if score > best: best = score`, in either arm, or behind a jump."""
    for block in _blocks(statements):
        for place, statement in enumerate(block):
            if not isinstance(statement, ast.If):
                continue
            comparisons = list(_comparisons(statement.test))
            texts = {_pair_text(one) for one, _ in comparisons}
            is_open = any(
                isinstance(one, ast.BoolOp) and isinstance(one.op, ast.Or)
                for one in all_nodes(statement.test)
            )
            for comparison, sense in comparisons:
                ways = {
                    (_operator(other), way)
                    for other, way in comparisons
                    if _pair_text(other) == _pair_text(comparison)
                }
                if len(ways) > 1 and len(texts) < len(comparisons):
                    continue  # one way for each mode
                arms: list[tuple[Sequence[ast.stmt], bool]] = [
                    (statement.body, sense),
                    (statement.orelse, not sense),
                ]
                if all(any(_replaced(comparison, arm, holds, is_open)) for arm, holds in arms):
                    continue  # the score is kept either way
                if _leaves(statement.body) and not statement.orelse:
                    arms.append((block[place + 1 :], not sense))
                for arm, holds in arms:
                    yield from _replaced(comparison, arm, holds, is_open)


def _blocks(statements: Sequence[ast.AST]) -> Iterator[Sequence[ast.stmt]]:
    """The blocks of statements that hold a condition."""
    seen: set[int] = set()
    top = [one for one in statements if isinstance(one, ast.stmt)]
    for statement in top:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list) and any(isinstance(one, ast.If) for one in block):
                seen.update(map(id, block))
                yield block
    yield [one for one in top if id(one) not in seen]


def _comparisons(test: ast.expr, sense: bool = True) -> Iterator[tuple[ast.Compare, bool]]:
    """The comparisons in a condition, and whether they hold where it does."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _comparisons(value, sense)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _comparisons(inner, not sense)
        case ast.Compare(ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE()]):
            yield test, sense
        case ast.NamedExpr(value=value):
            yield from _comparisons(value, sense)
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            yield from _comparisons(inner, sense)


def _pair_text(comparison: ast.Compare) -> frozenset[str]:
    return frozenset({ast.unparse(comparison.left), ast.unparse(comparison.comparators[0])})


def _operator(comparison: ast.Compare) -> str:
    return "<" if isinstance(comparison.ops[0], ast.Lt | ast.LtE) else ">"


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Continue | ast.Raise)


def _replaced(
    comparison: ast.Compare, arm: Sequence[ast.stmt], holds: bool, is_open: bool
) -> Iterator[_Record]:
    """The record of a comparison whose arm puts the score in its place."""
    left, right = comparison.left, comparison.comparators[0]
    given = {
        (_core(target), _core(value))
        for one in _statements(arm)
        if isinstance(one, ast.Assign)
        for target, value in _pairs(one)
    }
    for record, score, is_left in ((right, left, True), (left, right, False)):
        if (_core(record), _core(score)) in given:
            is_more = (_operator(comparison) == ">") == is_left
            kept = HIGHER if is_more == holds else LOWER
            yield _Record(comparison, score, _stripped(record), kept, is_open or not holds, arm)


def _core(node: ast.expr) -> str:
    return ast.unparse(_stripped(node))


def _stripped(node: ast.expr) -> ast.expr:
    """A number without its conversion, and a record without the margin beside it."""
    while True:
        match node:
            case ast.Call(
                func=ast.Attribute(value=base, attr="item" | "detach" | "cpu" | "clone" | "mean"), args=[]
            ):
                node = base
            case ast.Call(func=ast.Attribute(value=base, attr="get"), args=[key, *_]):
                node = ast.Subscript(base, key, ast.Load())
            case ast.Call(func=ast.Name(id="float" | "int" | "round"), args=[base, *_]):
                node = base
            case ast.BinOp(
                left=ast.Name() | ast.Attribute() | ast.Subscript() as base,
                op=ast.Add() | ast.Sub() | ast.Mult(),
            ):
                node = base
            case _:
                return node


def _flagged(statements: Sequence[ast.AST]) -> Iterator[_Record]:
    """`is_best = score > best`, with `best = max(score, best)` or `if is_best: best = score`."""
    for one in statements:
        if not isinstance(one, ast.Assign) or not isinstance(one.targets[0], ast.Name):
            continue
        flag = one.targets[0].id
        for comparison, sense in _comparisons(one.value):
            arm = [other for other in statements if isinstance(other, ast.stmt) and _is_under(other, flag)]
            bodies_of = [inner for other in arm if isinstance(other, ast.If) for inner in other.body]
            chosen = [
                other
                for other in statements
                if isinstance(other, ast.Assign) and _is_extreme(other, comparison)
            ]
            handed = [other for other in arm if not isinstance(other, ast.If)]
            found = list(_replaced(comparison, bodies_of, sense, False))
            yield from found
            if not found and chosen and (handed or bodies_of):
                target = chosen[0].targets[0]
                yield from _replaced(
                    comparison, [_as_assignment(comparison, target), *handed, *bodies_of], sense, True
                )


def _is_under(statement: ast.stmt, flag: str) -> bool:
    """Whether a flag decides over a statement: its condition, or an argument of what it calls."""
    if isinstance(statement, ast.If):
        return any(isinstance(one, ast.Name) and one.id == flag for one in all_nodes(statement.test))
    call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call):
        return False
    given = (*call.args, *(word.value for word in call.keywords))
    return any(isinstance(one, ast.Name) and one.id == flag for one in given)


def _is_extreme(statement: ast.Assign, comparison: ast.Compare) -> bool:
    """`best = max(best, score)` of what a comparison compares."""
    call = statement.value
    if not (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"max", "min"}
    ):
        return False
    sides = {_core(comparison.left), _core(comparison.comparators[0])}
    return {_core(one) for one in call.args} == sides and _core(statement.targets[0]) in sides


def _as_assignment(comparison: ast.Compare, target: ast.expr) -> ast.Assign:
    left, right = comparison.left, comparison.comparators[0]
    return ast.Assign([target], left if _core(target) == _core(right) else right)


# What a record is for


def _is_kept(record: _Record) -> bool:
    """Whether weights, a place in the run or patience hang on a record, and not a printed number alone."""
    named = _words(record.record)
    for one in _statements(record.arm):
        for call in all_nodes(one, ast.Call):
            if SAVING & _words(call.func):
                return True
        targets = one.targets if isinstance(one, ast.Assign) else []
        if any(KEPT_WORDS & _words(target) for target in targets) and named & (
            BEST_WORDS | UPWARDS | DOWNWARDS
        ):
            return True
    return False


def _words(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for one in all_nodes(node):
        name = one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            name = one.value
        found.update(words(name))
    return found


def _speaks_of_worst(record: _Record) -> bool:
    """Whether somebody looks for the worst on purpose."""
    named = _words(record.record) | _words(record.score)
    around = {word for one in record.arm for word in _words(one)} - {"bad"}  # `bad_epochs = 0`
    return bool((named | around) & WORST_WORDS)


def _is_meant(record: _Record) -> bool:
    """Whether the record itself is named for the end that is kept: `max_loss`, `lowest_score`."""
    named = _words(record.record)
    if BEST_WORDS & named:
        return False
    return bool(named & (UPWARDS if record.kept == HIGHER else DOWNWARDS))


def _wanted(record: _Record, known: Known) -> str | None:
    said = direction(record.score, known)
    named = direction(record.record, NOTHING_KNOWN)
    if said and named and said != named:
        return None
    return said or named


# The number that a record begins with


def _never_beaten(
    source: Source, record: _Record, wanted: str | None, below_zero: bool
) -> Iterator[TurnedRecord]:
    begins = _beginning(source, record)
    if begins is None:
        return
    node, number = begins
    is_never = number == (math.inf if record.kept == HIGHER else -math.inf)
    # Losses and errors end at zero, but for likelihoods, bounds and games.
    is_never = is_never or (number == 0 and record.kept == LOWER and wanted == LOWER and not below_zero)
    if is_never:
        yield TurnedRecord(
            Site(source, record.node),
            ast.unparse(record.score),
            ast.unparse(record.record),
            record.kept,
            wanted or "",
            Site(source, node),
        )


def _beginning(source: Source, record: _Record) -> tuple[ast.AST, float] | None:
    """The one number that a record is given beside its scores; None where it is given anything else."""
    kept, score = _core(record.record), _core(record.score)
    found: list[tuple[ast.AST, float]] = []
    for node in all_nodes(source.tree, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For):
        if isinstance(node, ast.Assign):
            pairs = list(_pairs(node))
        elif isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value)] if node.value is not None else []
        elif isinstance(node, ast.AugAssign | ast.NamedExpr | ast.For):
            pairs = [(node.target, ast.Constant(None))]
        else:
            pairs = []
        for target, value in pairs:
            if not _is_same(target, kept) or _core(value) == score:
                continue
            number = _number(value)
            if number is None:
                return None
            found.append((node, number))
    numbers = {number for _, number in found}
    return found[0] if len(numbers) == 1 else None


def _is_same(target: ast.expr, kept: str) -> bool:
    """The record by its own name, or a field of that name: `best: float = 0.0` for `state.best`."""
    name = ast.unparse(target)
    if name == kept:
        return True
    if "." not in kept or "[" in kept:
        return False
    last = kept.rpartition(".")[2]
    return name == last or name.endswith(f".{last}")


def _number(node: ast.expr) -> float | None:
    text = ast.unparse(node).replace('"', "'")
    endless = {
        "float('inf')",
        "math.inf",
        "np.inf",
        "numpy.inf",
        "torch.inf",
        "inf",
        "np.Inf",
        "float('infinity')",
    }
    if text in endless:
        return math.inf
    if (text.startswith("-") and text[1:] in endless) or text == "float('-inf')":
        return -math.inf
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# Picking from what was kept


def _picked(source: Source, statements: Sequence[ast.AST], known: Known) -> Iterator[TurnedRecord]:
    """`best = max(runs, key=lambda run: run["loss"])` and `best_epoch = np.argmin(accuracies)`."""
    for one in statements:
        if not isinstance(one, ast.Assign) or not BEST_WORDS & _words(one.targets[0]):
            continue
        if WORST_WORDS & _words(one):
            continue
        call = one.value
        while (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "int"
            and call.args
        ):
            call = call.args[0]
        found = _pick(call) if isinstance(call, ast.Call) else None
        if found is None:
            continue
        by, kept = found
        wanted = direction(by, known)
        if wanted is not None and wanted != kept:
            yield TurnedRecord(Site(source, call), ast.unparse(by), ast.unparse(one.targets[0]), kept, wanted)


def _pick(call: ast.Call) -> tuple[ast.expr, str] | None:
    """What is looked for the extreme of, and which one."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in {"max", "min"} and isinstance(call.func, ast.Name):
        key = next((word.value for word in call.keywords if word.arg == "key"), None)
        if isinstance(key, ast.Lambda) and not isinstance(key.body, ast.Tuple):
            return key.body, HIGHER if name == "max" else LOWER
    if name in {"argmax", "argmin"}:
        is_method = isinstance(call.func, ast.Attribute) and not call.args
        by = (
            call.func.value
            if is_method and isinstance(call.func, ast.Attribute)
            else next(iter(call.args), None)
        )
        return (by, HIGHER if name == "argmax" else LOWER) if by is not None else None
    return None
