"""The validation path: what it compares, and whether it shrinks that first or follows the curriculum."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from stethoscope.program.budget import budget
from stethoscope.program.effects import effects, own_nodes
from stethoscope.program.entries import is_test, walk
from stethoscope.program.execution import STEPS, Execution, Exhausted, Record
from stethoscope.program.extents import HEIGHT, WIDTH, Ruler
from stethoscope.program.index import Function, Index, Module, dotted, index
from stethoscope.program.ingredients import LAYOUT
from stethoscope.program.likenesses import LIKENESS_WORDS, is_target_like, words
from stethoscope.program.minimised import Minimised, minimised
from stethoscope.program.network_passes import callable_name, comes_from_model, is_model_call, is_network_pass
from stethoscope.program.orientation import spoken_name
from stethoscope.program.pictures import Mark, Picture
from stethoscope.program.remembered import remembered
from stethoscope.program.removal import removal
from stethoscope.program.resizes import is_resize
from stethoscope.program.settings_tree import settings_tree
from stethoscope.program.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Part,
    Table,
    Value,
    inputs,
    lines_of,
    span_of,
)
from stethoscope.run import Program, Recipe, Splice, Where

MOST_ENTRIES = 40
ALL_STEPS = 100_000  # for all walks together: one or two seconds
MOST_SEEN = 20_000  # values looked at from one entry
MOST_SHARE = 0.6  # of the area; above this it is a border or a multiple of the scale
SMALL_CROP = 256  # longest side; a larger centre crop is a usual protocol
USUAL_SIDE = 224  # from here on, a fixed size is a usual evaluation protocol

# fmt: off
EVALUATION_WORDS = frozenset({
    "validate", "validation", "valid", "val", "evaluate", "evaluation", "eval", "test", "testing",
    "benchmark", "score",
})
MEASURE_WORDS = frozenset({
    *LIKENESS_WORDS, "metric", "metrics", "score", "scores", "error", "loss", "losses", "criterion", "mse",
    "mae", "rmse", "l1", "l2", "nmse", "evaluator", "meter", "measure", "compare", "difference", "diff",
    "entropy", "nll", "bce", "kl", "divergence", "distance", "crit", "cost", "objective",
})
SHOWING_WORDS = frozenset({
    "save", "vis", "visualize", "visualise", "visual", "visuals", "plot", "grid", "show", "imshow", "draw",
    "log", "write", "imwrite", "image", "images", "panel", "figure", "export", "concat", "cat", "stack",
    "append", "add", "print", "hstack", "vstack", "gallery", "dump", "display", "paste", "collage",
})
PERCEPTUAL_WORDS = frozenset({
    "lpips", "fid", "inception", "clip", "dists", "niqe", "vgg", "perceptual", "kid", "brisque", "pieapp",
})
OTHER_NAMES = frozenset({
    "sample", "samples", "preview", "demo", "visualize", "visualise", "plot", "save", "draw", "show",
    "images", "generate", "train", "training", "fit",
})
SEALED_WORDS = frozenset({
    "ssim", "msssim", "mssim", "vif", "fsim", "gmsd", "iwssim", "cwssim", "save", "plot", "visualize",
})
# What counts how often labels and predictions meet: the way to a confusion matrix.
COUNTING = frozenset({"bincount", "histc", "histogram", "histogram2d", "histogramdd", "index_put_"})
# fmt: on
# What makes a difference an error rather than a residual that is added back.
ERROR = re.compile(r"\*\*\s*2|abs|square|pow\(|norm|mse|mae|err|diff|loss|psnr", re.IGNORECASE)
REDUCED = re.compile(r"mean|sum|norm|avg|average|median|log10")
# What makes an unknown call a score: it is made a number, added up or listed.
COUNTED = re.compile(r"\.item\(\)|float\(|\+=|append\(|yield ")
PROGRESS = re.compile(
    r"^(global_?|cur_?|current_?|train_?|n_?|num_?)*(step|steps|iter|iters|iteration|epoch)$|^progress$"
)
DIFFICULTY = re.compile(r"curricul|difficult|ramp|preschool|pacing|hardness|anneal", re.IGNORECASE)
FIXED_DIFFICULTY = re.compile(r"final|full|max|target|last|hardest|fixed|reset", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shrinking:
    """A resize or crop of what validation compares.

    `longest` is the longest side it leaves of a large picture, where that does not depend on the picture;
    `share` is the part of the area it leaves otherwise; `input_longest` is the same for the network's input.
    `conditional` says that small pictures pass unchanged, `smooth` that it is antialiased. `compared_at` is
    where the result is measured, None where that was not seen.
    """

    kind: str
    function: str
    call: str
    longest: int | None
    share: float
    input_longest: int | None
    conditional: bool
    smooth: bool
    where: Where
    compared_at: Where | None
    fixes: tuple[Splice, ...] = ()


@dataclass(frozen=True, slots=True)
class Following:
    """A difficulty inside validation that depends on the progress of training."""

    function: str
    difficulty: str
    progress: str
    where: Where
    measured_at: Where


@dataclass(frozen=True, slots=True)
class ValidationPath:
    """The functions that validate, and what they do to the yardstick. `compared` counts comparisons met."""

    functions: tuple[str, ...]
    compared: int
    shrinkings: tuple[Shrinking, ...]
    followings: tuple[Following, ...]


@remembered
def validation_path(program: Program, recipe: Recipe | None = None) -> ValidationPath:
    """Follow every function that validates."""
    names = index(program)
    settings = settings_tree(recipe)
    trained = _trained_sites(minimised(names, settings))
    shrinkings: dict[Where, Shrinking] = {}
    followings: dict[Where, Following] = {}
    entries = evaluation_entries(names)[:MOST_ENTRIES]
    compared = 0
    left = budget(names, ALL_STEPS)
    for entry in entries:
        run = Execution(names, settings, min(STEPS, left))
        walk(run, entry.start)
        comparisons = list(_comparisons(run, entry))
        compared += len(comparisons)
        rulers = Rulers.of(run)
        found = [s for comparison in comparisons for s in _shrinkings(comparison, rulers, trained)]
        if not comparisons:
            found = list(_unseen_shrinkings(run, entry, rulers, trained))
        for shrinking in found:
            known = shrinkings.get(shrinking.where)
            if known is None or known.compared_at is None:
                shrinkings[shrinking.where] = shrinking
        for following in _followings(run, comparisons, entry):
            followings.setdefault(following.where, following)
        left -= min(STEPS, left) - max(run.steps, 0)
    spoken = tuple(e.start.spoken if isinstance(e.start, Function) else e.start.name for e in entries)
    return ValidationPath(spoken, compared, tuple(shrinkings.values()), tuple(followings.values()))


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationEntry:
    """A place where evaluation begins; `lines` limit it to a part of a function that also trains."""

    start: Function | Module
    lines: tuple[tuple[int, int], ...] = ()


@lru_cache(maxsize=4)
def evaluation_entries(names: Index) -> list[EvaluationEntry]:
    """The functions that evaluate by their name or role, and the evaluating parts of training loops."""
    training = effects(names).minimising
    found: list[EvaluationEntry] = []
    for function in names.functions:
        if is_test(function.source):
            continue
        if function in training:
            regions = _evaluating_lines(list(own_nodes(function.node)))
            if regions:
                found.append(EvaluationEntry(function, regions))
        elif evaluates(function) and not OTHER_NAMES.intersection(words(function.name)):
            found.append(EvaluationEntry(function))
    for module in names.modules.values():
        regions = _evaluating_lines(list(_own_statements(module)))
        if regions:
            found.append(EvaluationEntry(module, regions))
    # Functions that say so by name know best what they hand on.
    return sorted(found, key=lambda entry: not _is_named_evaluation(entry))


def _is_named_evaluation(entry: EvaluationEntry) -> bool:
    return isinstance(entry.start, Function) and bool(EVALUATION_WORDS.intersection(words(entry.start.name)))


def evaluates(function: Function) -> bool:
    """Whether a function evaluates by its name, or because it asks for no gradients or for eval mode."""
    if EVALUATION_WORDS.intersection(words(function.name)):
        return True
    if any(name.endswith(("no_grad", "inference_mode")) for name in function.decorators):
        return True
    return any(_is_without_gradient(node) or _is_eval_call(node) for node in own_nodes(function.node))


def _is_without_gradient(node: ast.AST) -> bool:
    if not isinstance(node, ast.With):
        return False
    calls_made = (item.context_expr for item in node.items)
    names = (dotted(c.func if isinstance(c, ast.Call) else c) or "" for c in calls_made)
    return any(name.endswith(("no_grad", "inference_mode")) for name in names)


def _is_eval_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "eval"
        and not node.args
    )


def _evaluating_lines(nodes: list[ast.AST]) -> tuple[tuple[int, int], ...]:
    """The lines of blocks without gradient, and of loops over validation data."""
    found: list[tuple[int, int]] = []
    for node in nodes:
        if _is_without_gradient(node) or (isinstance(node, ast.For) and _is_over_validation(node.iter)):
            found.append((node.lineno, node.end_lineno or node.lineno))  # type: ignore[attr-defined]
    return tuple(found)


def _is_over_validation(iterable: ast.expr) -> bool:
    names = {
        name
        for node in ast.walk(iterable)
        if isinstance(node, ast.Name | ast.Attribute)
        for name in _words_of(node)
    }
    return bool(names & {"val", "valid", "validation", "test", "eval", "dev"})


def _words_of(node: ast.Name | ast.Attribute) -> list[str]:
    return words(node.id if isinstance(node, ast.Name) else node.attr)


def _own_statements(module: Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [module.source.tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers"):
            waiting.extend(
                child
                for child in getattr(node, block, ())
                if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            )


# Comparisons: a prediction held against something that no network made


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A measurement met in validation, with the target it holds the prediction against."""

    value: Applied | Delayed
    predictions: tuple[Value, ...]
    targets: tuple[Value, ...]
    within: tuple[Function, ...]


def _comparisons(run: Execution, entry: EvaluationEntry) -> Iterator[Comparison]:
    for record in _all_records(run, entry):
        if not _measures(run, record.value):
            continue
        operands = list(_operands(run, record.value))
        predictions = tuple(value for value in operands if _is_predicted(run, value))
        targets = tuple(
            value for value in operands if not _is_predicted(run, value) and not isinstance(value, Constant)
        )
        if predictions and targets:
            yield Comparison(record.value, predictions, targets, record.within)


def _all_records(run: Execution, entry: EvaluationEntry) -> Iterator[Record]:
    """What was met in evaluation, and then inside the pure functions it calls, metrics excepted."""
    inside = {id(record) for record in run.records if _is_inside(record, entry)}
    position = 0
    while position < len(run.records):
        record = run.records[position]
        position += 1
        if id(record) not in inside:
            continue
        yield record
        before = len(run.records)
        if isinstance(record.value, Delayed) and not _is_sealed(run, record.value):
            _expanded(run, record.value)
        inside.update(id(r) for r in run.records[before:] if not _is_in_network(r))


def _is_sealed(run: Execution, call: Delayed) -> bool:
    """Networks and metrics that work at several scales: what happens inside is their own business."""
    parts = set(words(spoken_name(call)))
    return bool(parts & (PERCEPTUAL_WORDS | SEALED_WORDS)) or is_network_pass(run.index, call)


def _is_in_network(record: Record) -> bool:
    return any(function.name == "forward" and function.owner is not None for function in record.within)


def _is_inside(record: Record, entry: EvaluationEntry) -> bool:
    """Whether a record belongs to evaluation, and not to the insides of a network."""
    if _is_in_network(record):
        return False
    if not entry.lines:
        return True
    site = record.value.site
    home = entry.start.source
    if site.source is not home:
        return False
    line = getattr(site.node, "lineno", 0)
    return any(first <= line <= last for first, last in entry.lines)


def _measures(run: Execution, value: Applied | Delayed) -> bool:
    name = spoken_name(value) if isinstance(value, Delayed) else _spoken_callee(value)
    parts = set(words(name))
    if parts & PERCEPTUAL_WORDS:
        return False
    if isinstance(value, Applied) and value.callee == "-":
        return bool(ERROR.search(_line_of(value)) and REDUCED.search(_lines_after(value)))
    if isinstance(value, Applied) and value.callee == "()" and COUNTED.search(_line_of(value)):
        return not parts & SHOWING_WORDS
    if isinstance(value, Applied) and (value.callee == "==" or _counts_pairs(value) or _overlap(value)):
        return True
    return bool(parts & MEASURE_WORDS) or (
        isinstance(value, Applied) and value.callee in {".update", ".add_batch"}
    )


def _counts_pairs(value: Applied) -> bool:
    return value.callee.rpartition(".")[2] in COUNTING


def _overlap(value: Applied) -> tuple[Value, ...]:
    """The two sides of `(found & true).sum()`, where a score counts what they share."""
    match value:
        case Applied(callee=".sum", args=[Applied(callee="&", args=sides), *_]):
            return tuple(sides)
        case Applied(callee=callee, args=[one, other]) if callee.rpartition(".")[2] == "logical_and":
            return one, other
    return ()


def _line_of(value: Applied) -> str:
    """The lines that an expression stands on."""
    first = getattr(value.site.node, "lineno", 1)
    last = getattr(value.site.node, "end_lineno", first)
    return "\n".join(lines_of(value.site.source)[0][first - 1 : last])


def _lines_after(value: Applied, count: int = 3) -> str:
    """The line of an expression and the next few: an error is averaged soon."""
    first = getattr(value.site.node, "lineno", 1)
    return "\n".join(lines_of(value.site.source)[0][first - 1 : first + count])


def _spoken_callee(value: Applied) -> str:
    if value.callee == "()":
        return callable_name(value.args[0])
    return value.callee.removesuffix("()").rpartition(".")[2]


def _operands(run: Execution, value: Applied | Delayed) -> Iterator[Value]:
    args = list(value.args)
    if isinstance(value, Applied) and _counts_pairs(value):
        args = [term for arg in args for term in _terms(arg)]
    elif isinstance(value, Applied) and (sides := _overlap(value)):
        args = list(sides)
    elif isinstance(value, Applied) and value.callee[0] in "(.":
        args = args[1:]  # the callable or the receiver
    for arg in (*args, *value.keywords.values()):
        yield from _flattened(run.force(arg) if isinstance(arg, Delayed) else arg)


def _terms(value: Value) -> Iterator[Value]:
    """What is added up in `classes * target + prediction`, the number of a pair."""
    inner = value
    while isinstance(inner, Applied) and inner.callee.rpartition(".")[2] in LAYOUT and inner.args:
        inner = inner.args[0]
    if isinstance(inner, Applied) and inner.callee in {"+", "*"}:
        for arg in inner.args:
            yield from _terms(arg)
    else:
        yield value


def _flattened(value: Value) -> Iterator[Value]:
    if isinstance(value, Items):
        for item in value.items:
            yield from _flattened(item)
    elif isinstance(value, Table):
        for item in (*value.entries.values(), *value.rest):
            yield from _flattened(item)
    elif not isinstance(value, Instance):
        yield value


def _is_predicted(run: Execution, value: Value) -> bool:
    return comes_from_model(run, value)


# Shrinking


@dataclass(frozen=True, slots=True, eq=False)
class Rulers:
    """The same walk measured on a large picture and on one twice as large, to tell caps from factors."""

    large: Ruler
    larger: Ruler

    @staticmethod
    def of(run: Execution) -> Rulers:
        """Rulers for one walk."""
        return Rulers(Ruler(run), Ruler(run, HEIGHT * 2, WIDTH * 2))

    def cap(self, value: Value) -> int | None:
        """The longest side that is left whatever the picture; None where it depends on the picture."""
        large, larger = self.large.picture(value), self.larger.picture(value)
        if large is None or larger is None or large.share >= MOST_SHARE:
            return None
        return large.longest if abs(large.longest - larger.longest) <= 1 else None


def _shrinkings(comparison: Comparison, rulers: Rulers, trained: frozenset[int]) -> Iterator[Shrinking]:
    for target in comparison.targets:
        found = _shrinking(target, comparison.predictions, rulers, trained, comparison.value.site.where)
        if found is not None:
            yield found


def _shrinking(
    target: Value, predictions: tuple[Value, ...], rulers: Rulers, trained: frozenset[int], at: Where | None
) -> Shrinking | None:
    try:
        picture = rulers.large.picture(target)
        if picture is None or picture.share >= MOST_SHARE:
            return None
        mark = _culprit(picture)
        if mark is None or id(mark.site.node) in trained:
            return None
        shown = next((cap for p in predictions if (cap := rulers.cap(p)) is not None), None)
        found = _described(mark, picture, rulers, rulers.cap(target), shown, at)
        return replace(found, fixes=_cuts([*_input_marks(predictions, mark, rulers), mark], rulers))
    except (Exhausted, RecursionError):
        return None


def _unseen_shrinkings(
    run: Execution, entry: EvaluationEntry, rulers: Rulers, trained: frozenset[int]
) -> Iterator[Shrinking]:
    """Where no metric was met: a target by name that is shrunk together with the network's input."""
    met = [record.value for record in run.records if _is_inside(record, entry)]
    fed = tuple(value for value in met if is_model_call(run.index, value))
    if not any(_is_small(value, rulers) for value in fed):
        return
    for value in met:
        if isinstance(value, Applied) and is_resize(value) and is_target_like(callable_name(value.args[0])):
            found = _shrinking(value, fed, rulers, trained, None)
            if found is not None:
                yield found


def _is_small(value: Value, rulers: Rulers) -> bool:
    try:
        picture = rulers.large.picture(value)
    except (Exhausted, RecursionError):
        return False
    return picture is not None and picture.share < MOST_SHARE


def _culprit(picture: Picture) -> Mark | None:
    """The mark that made the picture small, unless that is a usual protocol."""
    resizes = [mark for mark in picture.marks if mark.kind == "resize"]
    if resizes:
        smallest = min(resizes, key=lambda mark: mark.longest)
        usual = smallest.fixed and not picture.conditional and smallest.longest >= USUAL_SIDE
        return None if usual else smallest
    crops = [
        mark for mark in picture.marks if mark.kind == "crop" and mark.longest <= SMALL_CROP and mark.fixed
    ]
    return crops[-1] if crops else None


def _described(
    mark: Mark, picture: Picture, rulers: Rulers, cap: int | None, input_cap: int | None, at: Where | None
) -> Shrinking:
    home = _function_around(rulers.large.run.index, mark)
    return Shrinking(
        kind=mark.kind,
        function=home.spoken if home else mark.site.source.module,
        call=mark.callee.removesuffix("()").rpartition(".")[2],
        longest=cap,
        share=picture.share,
        input_longest=input_cap,
        conditional=picture.conditional or _is_under_condition(home, mark),
        smooth=mark.smooth,
        where=mark.site.where,
        compared_at=at,
    )


def _input_marks(predictions: tuple[Value, ...], shared: Mark, rulers: Rulers) -> list[Mark]:
    """The steps that make the network's input small: to mend the target alone would leave the sizes apart.

    An input made from the target after the step they share is mended with it.
    """
    pictures = [picture for value in predictions if (picture := rulers.large.picture(value)) is not None]
    apart = [p for p in pictures if all(mark.site.node is not shared.site.node for mark in p.marks)]
    small = [picture for picture in apart if picture.share < MOST_SHARE]
    return [mark for picture in small if (mark := _culprit(picture)) is not None]


def _cuts(marks: list[Mark], rulers: Rulers) -> tuple[Splice, ...]:
    """The cuts that take out every one of these steps, or none where one of them would stay."""
    cuts: list[Splice] = []
    for mark in marks:
        if any(_holds(cut, mark) for cut in cuts):
            continue
        home = _function_around(rulers.large.run.index, mark)
        own = removal(mark.site, home.node if home else None)
        if not own:
            return ()
        cuts.extend(cut for cut in own if cut not in cuts)
    return tuple(cuts)


def _holds(cut: Splice, mark: Mark) -> bool:
    span = span_of(mark.site.source, mark.site.node)
    return (
        span is not None and cut.file == mark.site.source.file and cut.start <= span[0] and span[1] <= cut.end
    )


def _function_around(names: Index, mark: Mark) -> Function | None:
    line = getattr(mark.site.node, "lineno", 0)
    inside = [
        function
        for function in names.functions
        if function.source is mark.site.source
        and function.node.lineno <= line <= (function.node.end_lineno or 0)
    ]
    return max(inside, key=lambda function: function.node.lineno, default=None)


def _is_under_condition(home: Function | None, mark: Mark) -> bool:
    line = getattr(mark.site.node, "lineno", 0)
    return home is not None and any(
        isinstance(node, ast.If) and node.lineno < line <= (node.end_lineno or 0)
        for node in own_nodes(home.node)
    )


def _trained_sites(found: list[Minimised]) -> frozenset[int]:
    """The calls that training makes of its own targets too: what both do is the task."""
    sites: set[int] = set()
    for one in found:
        seen: set[int] = set()
        waiting: list[Value] = [one.sink.value]
        while waiting and len(seen) < 4_000:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Applied):
                sites.add(id(value.site.node))
            if isinstance(value, Delayed) and not is_network_pass(one.run.index, value):
                waiting.append(_expanded(one.run, value))
            waiting.extend(inputs(value))
    return frozenset(sites)


def _expanded(run: Execution, value: Delayed) -> Value:
    try:
        return run.expand(value)
    except (Exhausted, RecursionError):
        return Constant(None)


# The curriculum


def _followings(run: Execution, comparisons: list[Comparison], entry: EvaluationEntry) -> Iterator[Following]:
    measured = [comparison.value for comparison in comparisons]
    measured += [r.value for r in run.records if not _is_in_network(r) and _is_loss_call(r.value)]
    seen: set[int] = set()
    for value in measured:
        found = _progress_in(run, value, seen)
        if found is None:
            continue
        difficulty, progress = found
        start = entry.start
        yield Following(
            function=start.spoken if isinstance(start, Function) else start.name,
            difficulty=difficulty.site.text.partition("\n")[0][:80],
            progress=progress,
            where=difficulty.site.where,
            measured_at=value.site.where,
        )


def _is_loss_call(value: Applied | Delayed) -> bool:
    name = spoken_name(value) if isinstance(value, Delayed) else _spoken_callee(value)
    return bool(set(words(name)) & {"loss", "losses", "criterion", "objective"})


def _progress_in(run: Execution, value: Value, seen: set[int]) -> tuple[Applied | Delayed, str] | None:
    """A difficulty among what a value was made from, and the progress it depends on."""
    waiting: list[Value] = [value]
    while waiting and len(seen) < MOST_SEEN:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied | Delayed) and _is_difficulty(current):
            progress = _progress(current)
            if progress:
                return current, progress
        if isinstance(current, Delayed):
            waiting.append(_expanded(run, current))
        waiting.extend(inputs(current))
    return None


def _is_difficulty(value: Applied | Delayed) -> bool:
    named = spoken_name(value) if isinstance(value, Delayed) else ""
    if isinstance(value, Delayed) and isinstance(value.callee, FunctionValue):
        function = value.callee.function
        named += " " + function.spoken
    elif isinstance(value, Applied):
        named = value.site.text[:120] if value.callee[0] in ".(" else ""
    return bool(DIFFICULTY.search(named)) and not FIXED_DIFFICULTY.search(named)


def _progress(value: Applied | Delayed) -> str:
    for arg in (*value.args, *value.keywords.values()):
        for name in _leaf_names(arg):
            if PROGRESS.match(name):
                return name
    return ""


def _leaf_names(value: Value) -> Iterator[str]:
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < 200:
        current = waiting.pop()
        if id(current) in seen or isinstance(current, Instance):
            continue
        seen.add(id(current))
        if isinstance(current, Leaf):
            yield current.name
        elif isinstance(current, Part):
            yield str(current.key)
        waiting.extend(inputs(current))
