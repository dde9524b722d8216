"""How the items of training and of evaluation are standardised by the code of their data sets."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from stethoscope.program.ancestry import quietly
from stethoscope.program.batches import batch_parts, batches, datasets, entry, is_loader, items
from stethoscope.program.effects import own_nodes
from stethoscope.program.events import Assignment, Call, Event
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.fitted_loaders import fitted_loaders
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.ingredients import ingredients, part_path, peeled
from stethoscope.program.item_scales import affine, chains, normalised
from stethoscope.program.likenesses import TARGET_WORDS, words
from stethoscope.program.network_passes import is_model_call
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.trace import TRACE_STEPS
from stethoscope.program.training_data import POSITIONAL, TrainingLoader, sources, training_loaders
from stethoscope.program.validation_path import evaluates
from stethoscope.program.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Part,
    Site,
    Table,
    Value,
    inputs,
)

# fmt: off
EVALUATION_WORDS = frozenset({
    "val", "valid", "validation", "test", "testing", "eval", "evaluation", "dev", "holdout", "heldout",
    "evaluate", "validate", "accuracy", "tst", "vali",
})
TRAINING_WORDS = frozenset({"train", "training", "trn", "fit"})
EVALUATION_HOOKS = ("val_dataloader", "test_dataloader")
EVALUATION_STEPS = frozenset({
    "validation_step", "test_step", "on_after_batch_transfer", "on_before_batch_transfer",
    "transfer_batch_to_device",
})
STATISTICS = frozenset({"mean", "nanmean", "median", "min", "amin", "std", "var", "max", "amax", "std_mean"})
# Parameters of a data set that say how items are treated, and not which there are.
HOW_WORDS = frozenset({
    "transform", "transforms", "augment", "augmentation", "augmentations", "aug", "crop", "flip", "mean",
    "std", "stats", "statistics", "scaler", "normalize", "normalise", "device", "dtype", "cfg", "config",
    "args",
})
# fmt: on
READING = frozenset({"read_image", "imread", "open", "load", "read", "loadtxt", "read_csv", "decode_image"})
SAME_DEPTH = 6
MOST_LOADERS = 12
ROUNDING = 0.02  # numbers that differ by less were rounded


class Kind(StrEnum):
    """Whose statistics an item is standardised by."""

    ITEM = "its own"  # one item's
    OWN = "those of its own data set"
    GIVEN = "given ones"


@dataclass(frozen=True, slots=True, eq=False)
class Standardised:
    """One `(x - mean) / deviation` on the way of an item; `numbers` where both are written down.

    `asked` is where the item is handed to the function that does it, None where no function was called.
    """

    value: Applied
    kind: Kind
    numbers: tuple[float, ...] | None
    asked: Site | None = None

    @property
    def site(self) -> Site:
        """Where it is done."""
        return self.value.site


@dataclass(frozen=True, slots=True, eq=False)
class ScaledApart:
    """An evaluation whose items are standardised otherwise than those of training.

    `judged` is None where they are not standardised at all; `dataset` is where the data set of the evaluation
    is made or handed on, and `fitted` where what it was given got its statistics.
    """

    trained: Standardised
    judged: Standardised | None
    dataset: Site
    loader: Site
    fitted: Site | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DataScaling:
    """What was found, and how many pairs of loaders were compared."""

    compared: int
    apart: tuple[ScaledApart, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    run: Execution
    events: Sequence[Event]
    trained: Applied
    judged: Applied


@remembered
def data_scaling(index: Index, settings: SettingsTree) -> DataScaling:
    """Compare what training and evaluation loaders of one walk do to their items."""
    compared = 0
    found: dict[int, ScaledApart] = {}
    alike: set[int] = set()  # evaluations that fit one of several trainings
    pairs = (*_in_walks(index, settings), *_in_hooks(index, settings), *_in_fits(index, settings))
    for pair in pairs:
        pair.run.steps = max(pair.run.steps, STEPS // 4)
        try:
            verdict = _compared(pair)
        except (Exhausted, RecursionError):
            continue
        compared += verdict is not None
        if verdict == []:
            alike.add(id(pair.judged.site.node))
        for apart in verdict or ():
            found.setdefault(id(apart.loader.node), apart)
    return DataScaling(compared, tuple(one for node, one in found.items() if node not in alike))


# Loaders of training beside those of evaluation


def _in_walks(index: Index, settings: SettingsTree) -> Iterator[_Pair]:
    trained = [loader for loader in training_loaders(index, settings) if loader.loop is not None]
    own = {id(loader.site.node) for loader in trained}
    for loader in trained:
        names = _names_by_value(loader.run)
        judging = _judging(loader.run)
        count = 0
        for record in loader.run.records:
            made = record.value
            if not (isinstance(made, Applied) and is_loader(made)) or made is loader.made:
                continue
            around = record.within[-1].name if record.within else ""
            spoken = names.get(id(made), ())
            # One place may make all loaders: then only what each is called tells them apart.
            texts = spoken if id(made.site.node) in own else (made.site.text, around, *spoken)
            is_judging = id(made) in judging or _is_for_evaluation(texts)
            if is_judging and count < MOST_LOADERS and _is_counterpart(loader, made, trained):
                count += 1
                yield _Pair(loader.run, loader.run.events, loader.made, made)


def _judging(run: Execution) -> set[int]:
    """The loaders whose batches go into a network inside a function that evaluates."""
    run.steps = max(run.steps, STEPS // 4)
    found: set[int] = set()
    try:
        for record in run.records:
            call = record.value
            if record.within and evaluates(record.within[-1]) and is_model_call(run.index, call):
                parts = (part for arg in call.args for part in batch_parts(run, arg))
                found.update(id(part_path(part)[0]) for part in parts)
    except (Exhausted, RecursionError):
        pass  # what was met so far stands
    return found


def _is_counterpart(loader: TrainingLoader, judged: Applied, trained: Sequence[TrainingLoader]) -> bool:
    """Whether training and evaluation load the same kind of data, where training has several."""
    others = [one for one in trained if one.run is loader.run]
    if len(others) < 2:
        return True
    return bool(_classes(loader.run, loader.made) & _classes(loader.run, judged))


def _classes(run: Execution, loader: Applied) -> set[Class]:
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    behind = datasets(run, options["dataset"]) if "dataset" in options else ()
    return {one.cls for one in behind if isinstance(one, Instance)}


def _names_by_value(run: Execution) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for event in list(run.events):
        if isinstance(event, Assignment):
            name = dotted(event.target) or ""
            values = [event.value]
            if isinstance(event.value, Delayed) and "load" in ast.unparse(event.value.site.node).lower():
                values.append(quietly(run, event.value))
            for value in values:
                found.setdefault(id(value), []).append(name)
    return found


def _is_for_evaluation(texts: Sequence[str]) -> bool:
    spoken = {word for text in texts for name in _identifiers(text) for word in words(name)}
    return bool(spoken & EVALUATION_WORDS)


def _identifiers(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()


def _in_hooks(index: Index, settings: SettingsTree) -> Iterator[_Pair]:
    """What the loader hooks of a framework's data class give back."""
    for cls in index.classes:
        first = cls.methods.get("train_dataloader")
        others = [cls.methods[name] for name in EVALUATION_HOOKS if name in cls.methods]
        if first is None or not others or _hooks_scale(index):
            continue
        run = Execution(index, settings, TRACE_STEPS // 4, tracing=True)
        try:
            module = run.make(cls)
            trained = [made for made in sources(run.enter(first, module)) if is_loader(made)]
            judged = [
                made for other in others for made in sources(run.enter(other, module)) if is_loader(made)
            ]
        except (Exhausted, RecursionError):
            continue
        yield from (_Pair(run, run.events, trained[0], made) for made in judged if trained)


def _in_fits(index: Index, settings: SettingsTree) -> Iterator[_Pair]:
    """The loaders that a Lightning trainer is given side by side."""
    if _hooks_scale(index):
        return
    for loader in fitted_loaders(index, settings):
        for event in list(loader.run.events):
            if not isinstance(event, Call) or event.name != "fit":
                continue
            given = event.argument(2, "val_dataloaders")
            for made in sources(loader.run.force(given)) if given is not None else ():
                if is_loader(made) and made is not loader.made:
                    yield _Pair(loader.run, loader.run.events, loader.made, made)


def _hooks_scale(index: Index) -> bool:
    """Whether a step of evaluation standardises its batch by itself."""
    return any(
        _computes_scale(function) for name in EVALUATION_STEPS for function in index.functions_named(name)
    )


def _computes_scale(function: Function) -> bool:
    for node in own_nodes(function.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return True
        if isinstance(node, ast.Call) and "norm" in (dotted(node.func) or "").lower():
            return True
    return False


# Comparing


def _compared(pair: _Pair) -> list[ScaledApart] | None:
    """What sets the evaluation apart; None where the items could not be followed."""
    by_steps = _transformed_apart(pair)
    if by_steps is not None:
        return by_steps
    drawn = items if _are_collated_alike(pair) else batches
    ours = [_input(pair.run, one) for one in drawn(pair.run, pair.trained)]
    theirs = [_input(pair.run, one) for one in drawn(pair.run, pair.judged)]
    if not ours or not theirs:
        return None
    trained = [one for value in ours for one in _standardisations(pair.run, value)]
    common = [one for value in ours for one in _unknown_calls(pair.run, value)]
    if any(_is_open(pair.run, value, common) for value in theirs):
        return []
    if not trained:
        return _moved_apart(pair, ours, theirs)
    judged = [
        replace(one, kind=Kind.OWN) if _is_computed_anew(pair, one, trained) else one
        for value in theirs
        for one in _standardisations(pair.run, value)
    ]
    place = _place_of_dataset(pair)
    if not judged:
        is_scaled_later = _is_scaled_later(pair)
        return [] if is_scaled_later else [ScaledApart(trained[0], None, place, pair.judged.site)]
    return [
        ScaledApart(trained[0], one, place, pair.judged.site, _fitted_at(pair, one))
        for one in judged
        if _differs(one, trained)
    ][:1]


def _moved_apart(pair: _Pair, ours: Sequence[Value], theirs: Sequence[Value]) -> list[ScaledApart]:
    """Items of one class of data set that are scaled and shifted by other numbers: `x / 255`, `2 * x - 1`."""
    classes = _classes(pair.run, pair.trained) & _classes(pair.run, pair.judged)
    if not classes or len(ours) != 1 or len(theirs) != 1:
        return []
    one, other = affine(ours[0]), affine(theirs[0])
    if one is None or other is None:
        return []
    (scale, shift, trained), (other_scale, other_shift, judged) = one, other
    if trained is None:
        return []
    is_apart = abs(scale / other_scale - 1) > ROUNDING if other_scale else True
    if not is_apart and abs(shift - other_shift) <= ROUNDING:
        return []
    place = _place_of_dataset(pair)
    first = Standardised(trained, Kind.GIVEN, (scale, shift))
    if judged is None:
        is_later = _is_scaled_later(pair)
        return [] if is_later else [ScaledApart(first, None, place, pair.judged.site)]
    second = Standardised(judged, Kind.GIVEN, (other_scale, other_shift))
    return [ScaledApart(first, second, place, pair.judged.site)]


def _transformed_apart(pair: _Pair) -> list[ScaledApart] | None:
    """What sets chains of transforms apart that the data sets are given; None where there are none."""
    found = []
    for loader in (pair.trained, pair.judged):
        options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
        given = list(chains(pair.run, options["dataset"])) if "dataset" in options else []
        steps = normalised(pair.run, given[0]) if len(given) == 1 else None
        if steps is None or any(numbers is None for _, numbers in steps):
            return None
        found.append((given[0], steps))
    (chain, ours), (other, theirs) = found
    if chain.site.node is not other.site.node or len(ours) != 1 or len(theirs) != 1:
        return None  # chains that are written apart are compared by what is written there
    (trained, numbers), (judged, other_numbers) = ours[0], theirs[0]
    if numbers is None or other_numbers is None or not _apart(numbers, other_numbers):
        return []
    first = Standardised(trained, Kind.GIVEN, numbers)
    second = Standardised(judged, Kind.GIVEN, other_numbers)
    return [ScaledApart(first, second, _place_of_dataset(pair), pair.judged.site)]


def _are_collated_alike(pair: _Pair) -> bool:
    """Whether one function collates both, so that only what their data sets do can set them apart."""
    functions = [
        pair.run.force(loader.keywords["collate_fn"]) if "collate_fn" in loader.keywords else None
        for loader in (pair.trained, pair.judged)
    ]
    one, other = (one.function if isinstance(one, FunctionValue) else one for one in functions)
    return one is not None and one is other


def _input(run: Execution, batch: Value) -> Value:
    """What of an item goes into the network: the first part, or what is not called a target."""
    batch = run.force(batch)
    match batch:
        case Items(items=[first, *_]):
            return first
        case Table(entries=entries):
            keys = [key for key in entries if not TARGET_WORDS.intersection(words(str(key)))]
            found = entry(batch, keys[0]) if keys and isinstance(keys[0], str | int) else None
            return found if found is not None else batch
        case Choice(options=options):
            return Choice(tuple(_input(run, option) for option in options))
    return batch


def _standardisations(run: Execution, value: Value) -> Iterator[Standardised]:
    asked: list[Delayed] = []
    for one in ingredients(run, value):
        if isinstance(one, Delayed):
            asked.append(one)
        if not isinstance(one, Applied):
            continue
        if one.callee == ".fit_transform" and len(one.args) > 1:
            yield Standardised(one, Kind.OWN, None)
        elif one.callee == ".transform" and len(one.args) > 1:
            yield Standardised(one, Kind.GIVEN, None)
        elif one.callee == "/" and len(one.args) == 2:
            above = peeled(one.args[0])
            if isinstance(above, Applied) and above.callee == "-" and len(above.args) == 2:
                data, mean = above.args
                numbers = _numbers(mean, one.args[1])
                if not isinstance(data, Constant) and not _changes_nothing(numbers):
                    yield Standardised(one, _kind(run, data, mean), numbers, _asked(run, asked, one.site))


def _changes_nothing(numbers: tuple[float, ...] | None) -> bool:
    """`(x - 0) / 1`, as defaults have it."""
    if numbers is None:
        return False
    half = len(numbers) // 2
    return not any(numbers[:half]) and all(one == 1 for one in numbers[half:])


def _asked(run: Execution, calls: Sequence[Delayed], site: Site) -> Site | None:
    """The call, of these, of the function that a place is in; else the only one that the walk met."""
    for call in reversed(calls):
        if _is_in(call.callee, site):
            return call.site
    met = [record.value for record in run.records]
    sites = {
        id(call.site.node): call.site
        for call in met
        if isinstance(call, Delayed) and _is_in(call.callee, site)
    }
    return next(iter(sites.values())) if len(sites) == 1 else None


def _is_in(callee: FunctionValue | LambdaValue, site: Site) -> bool:
    if not isinstance(callee, FunctionValue) or callee.function.source is not site.source:
        return False
    node = callee.function.node
    return node.lineno <= getattr(site.node, "lineno", 0) <= (node.end_lineno or 0)


def _kind(run: Execution, data: Value, mean: Value) -> Kind:
    if any(isinstance(one, Leaf) and one.name in {"index", "samples"} for one in ingredients(run, mean)):
        return Kind.ITEM
    for one in ingredients(run, mean):
        if not (isinstance(one, Applied) and one.callee.rpartition(".")[2] in STATISTICS and one.args):
            continue
        if _is_over_items(one) and _same(peeled_moves(one.args[0]), peeled_moves(data), SAME_DEPTH):
            return Kind.OWN
    return Kind.GIVEN


def _is_computed_anew(pair: _Pair, judged: Standardised, trained: Sequence[Standardised]) -> bool:
    """Whether the code that gave training its statistics ran once more, over the data of the evaluation."""
    if judged.kind is not Kind.GIVEN or judged.numbers is not None:
        return False
    known = [one for other in trained if other.kind is Kind.GIVEN for one in _statistics(pair.run, other)]
    own = _statistics(pair.run, judged)
    if any(one is other for one in own for other in known):
        return False
    again = any(one.site.node is other.site.node for one in own for other in known)
    return again and _have_other_data(pair)


def _statistics(run: Execution, scaled: Standardised) -> list[Applied]:
    """The means that an item is standardised by, where they are computed."""
    above = peeled(scaled.value.args[0]) if scaled.value.args else None
    if not (isinstance(above, Applied) and above.callee == "-"):
        return []
    found = (one for one in ingredients(run, above.args[1]) if isinstance(one, Applied))
    return [one for one in found if one.callee.rpartition(".")[2] in STATISTICS]


def _fitted_at(pair: _Pair, judged: Standardised) -> Site | None:
    """Where what the data set of the evaluation was given got its statistics: `Items(val, Scale.of(val))`."""
    own = {id(one) for one in _statistics(pair.run, judged)} if judged.kind is Kind.OWN else set()
    options = {**dict(zip(POSITIONAL, pair.judged.args, strict=False)), **pair.judged.keywords}
    made = datasets(pair.run, options["dataset"]) if own and "dataset" in options else ()
    for dataset in made:
        given = dataset.made_with.values() if isinstance(dataset, Instance) else ()
        for value in given:
            if isinstance(value, Delayed) and any(id(one) in own for one in _inside(pair.run, value)):
                return value.site
    return None


def _inside(run: Execution, value: Delayed) -> Iterator[Value]:
    """What a call answers with, and what the object that it answers with holds."""
    answer = run.expand(value)
    held = [answer]
    if isinstance(answer, Instance):
        held = [*answer.attributes.values(), *answer.made_with.values()]
    for one in held:
        if not isinstance(one, Instance):
            yield from ingredients(run, one)


def _have_other_data(pair: _Pair) -> bool:
    """Whether the data sets were made with more than another transform or flag."""
    made = []
    for loader in (pair.trained, pair.judged):
        options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
        found = datasets(pair.run, options["dataset"]) if "dataset" in options else ()
        made.append([one for one in found if isinstance(one, Instance)])
    return any(_are_of_other_data(one, other) for one in made[0] for other in made[1] if one.cls is other.cls)


def _are_of_other_data(one: Instance, other: Instance) -> bool:
    for name in one.made_with.keys() & other.made_with.keys():
        left, right = one.made_with[name], other.made_with[name]
        is_flag = all(isinstance(v, Constant) and isinstance(v.value, bool | None) for v in (left, right))
        if name == "self" or is_flag or HOW_WORDS & set(words(name)):
            continue
        if not _same(left, right, SAME_DEPTH):
            return True
    return False


def _is_over_items(statistic: Applied) -> bool:
    """Whether a statistic is taken over the items, the first axis, or over everything."""
    given = statistic.keywords.get("dim", statistic.keywords.get("axis"))
    axis = given if given is not None else statistic.args[1] if len(statistic.args) > 1 else None
    if axis is None:
        return True
    axes = axis.items if isinstance(axis, Items) else [axis]
    return any(isinstance(one, Constant) and one.value == 0 for one in axes)


def peeled_moves(value: Value) -> Value:
    """A value without the conversions around it."""
    while isinstance(value, Applied) and value.args:
        if value.callee.rpartition(".")[2] not in {
            "float",
            "to",
            "astype",
            "from_numpy",
            "tensor",
            "as_tensor",
        }:
            break
        value = value.args[0]
    return value


def _same(one: Value, other: Value, depth: int) -> bool:
    """Whether two values are computed alike from the same things."""
    if one is other:
        return True
    if depth == 0:
        return False
    match one, other:
        case Constant(value=left), Constant(value=right):
            return type(left) is type(right) and isinstance(left, str | int | float) and left == right
        case Part(base=left_base, key=left_key), Part(base=right_base, key=right_key):
            return left_key == right_key and _same(left_base, right_base, depth - 1)
        case Applied(), Applied():
            return (
                one.callee == other.callee
                and len(one.args) == len(other.args)
                and all(_same(a, b, depth - 1) for a, b in zip(one.args, other.args, strict=True))
            )
    return False


def _numbers(mean: Value, deviation: Value) -> tuple[float, ...] | None:
    first, second = _written(mean), _written(deviation)
    return (*first, *second) if first is not None and second is not None else None


def _written(value: Value) -> tuple[float, ...] | None:
    value = peeled_moves(peeled(value))
    items = value.items if isinstance(value, Items) else [value]
    known = [item.value for item in items if isinstance(item, Constant)]
    if len(known) != len(items) or not all(isinstance(one, int | float) for one in known):
        return None
    return tuple(float(one) for one in known if isinstance(one, int | float))


def _differs(judged: Standardised, trained: Sequence[Standardised]) -> bool:
    """Whether an evaluation goes by other statistics than every training."""
    if any(judged.value is one.value for one in trained):
        return False
    if judged.kind is Kind.OWN:
        return True
    if judged.kind is Kind.ITEM or judged.numbers is None:
        return False
    known = [one.numbers for one in trained if one.numbers is not None]
    return len(known) == len(trained) and all(_apart(judged.numbers, numbers) for numbers in known)


def _apart(one: Sequence[float], other: Sequence[float]) -> bool:
    return len(one) != len(other) or any(abs(a - b) > ROUNDING for a, b in zip(one, other, strict=True))


def _is_open(run: Execution, value: Value, common: Sequence[Applied]) -> bool:
    """Whether something on the way of an item is not known, and not the same as in training."""
    return not all(any(_is_same_call(one, other) for other in common) for one in _unknown_calls(run, value))


def _is_same_call(one: Applied, other: Applied) -> bool:
    """Whether two calls stand at one place and call one thing: `read(path)`, not `self.transform(x)`."""
    if one is other:
        return True
    is_same_place = one.site.node is other.site.node and one.callee == "()" == other.callee
    return is_same_place and one.args[0] is other.args[0]


def _unknown_calls(run: Execution, value: Value) -> Iterator[Applied]:
    """Calls on the way of an item that might normalise it."""
    for one in ingredients(run, value, leading=_up_to_files):
        if isinstance(one, Applied):
            last = one.callee.rpartition(".")[2]
            is_layer = one.callee.startswith("torch.nn.")
            is_open = one.callee == "()" or (one.callee.endswith("()") and not is_layer)
            normalises = "norm" in last.lower() and last not in {"normal", "norm", "standard_normal"}
            if is_open or normalises:
                yield one


def _up_to_files(value: Value) -> Iterable[Value]:
    """What a value is made of; of a file that is read, nothing: how its name came about scales no item."""
    last = value.callee.rpartition(".")[2] if isinstance(value, Applied) else ""
    return () if last in READING else inputs(value)


def _is_scaled_later(pair: _Pair) -> bool:
    """Whether the loop of the evaluation standardises what it drew before it goes into the network."""
    for record in pair.run.records:
        call = record.value
        if not is_model_call(pair.run.index, call):
            continue
        made = [one for arg in call.args for one in ingredients(pair.run, arg)]
        if any(one is pair.judged for one in made) and any(
            isinstance(one, Applied) and (one.callee == "-" or "norm" in one.callee.lower()) for one in made
        ):
            return True
    return False


def _place_of_dataset(pair: _Pair) -> Site:
    """Where the data set of the evaluation gets its name, else where its loader is made."""
    options = {**dict(zip(POSITIONAL, pair.judged.args, strict=False)), **pair.judged.keywords}
    dataset = options.get("dataset")
    held = {id(dataset)}
    if isinstance(dataset, Delayed):
        held.add(id(pair.run.expand(dataset)))
    given = [event for event in pair.events if isinstance(event, Assignment)]
    named = [event for event in given if id(event.value) in held]
    if not named:  # a function makes the loader: where that is called
        calls = (event for event in given if isinstance(event.value, Delayed))
        named = [event for event in calls if quietly(pair.run, event.value) is pair.judged]
    return named[-1].site if named else pair.judged.site
