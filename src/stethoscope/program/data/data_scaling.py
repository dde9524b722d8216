"""How the items of training and of evaluation are standardised by the code of their data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from stethoscope.program.data.batches import batches, collated_items, datasets, entry, items
from stethoscope.program.data.ingredients import has, ingredients, is_drawn
from stethoscope.program.data.item_scales import affine, chains, normalised
from stethoscope.program.data.loader_pairs import LoaderPair, dataset_classes, loader_pairs
from stethoscope.program.data.normalisation import pipelines
from stethoscope.program.data.scaled_at import By, are_of_same_data, divided_apart
from stethoscope.program.data.standardisation import (
    READING,
    SAME_DEPTH,
    Kind,
    Standardised,
    is_over_items,
    is_same,
    standardisations,
    statistics_of,
)
from stethoscope.program.data.training_data import POSITIONAL
from stethoscope.program.index import Index
from stethoscope.program.likenesses import TARGET_WORDS, words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Assignment
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Site,
    Table,
    Value,
    inputs,
)

# fmt: off
# Parameters of a data set that say how items are treated, and not which there are.
HOW_WORDS = frozenset({
    "transform", "transforms", "augment", "augmentation", "augmentations", "aug", "crop", "flip", "mean",
    "std", "stats", "statistics", "scaler", "normalize", "normalise", "device", "dtype", "cfg", "config",
    "args",
})
# fmt: on
KINDS = {By.DATA: Kind.OWN, By.SAMPLE: Kind.ITEM, By.NUMBER: Kind.GIVEN}
ROUNDING = 0.02  # numbers that differ by less were rounded


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


@remembered
def data_scaling(index: Index, settings: SettingsTree) -> DataScaling:
    """Compare what training and evaluation loaders of one walk do to their items."""
    compared = 0
    found: dict[int, ScaledApart] = {}
    alike: set[int] = set()  # evaluations that fit one of several trainings
    for pair in loader_pairs(index, settings):
        pair.run.steps = max(pair.run.steps, STEPS // 4)
        try:
            verdict = _compared(pair)
        except (Exhausted, RecursionError):
            continue
        compared += verdict is not None
        if verdict == []:
            alike.add(id(pair.judged.site.node))
        for apart in verdict or ():
            if _is_drawn_alike(pair, apart):
                continue
            found.setdefault(id(apart.loader.node), apart)
    return DataScaling(compared, tuple(one for node, one in found.items() if node not in alike))


# Comparing


def _compared(pair: LoaderPair) -> list[ScaledApart] | None:
    """What sets the evaluation apart; None where the items could not be followed."""
    by_steps = _transformed_apart(pair)
    if by_steps is not None:
        return by_steps
    at_one_place = _divided_apart(pair)
    if at_one_place:
        return at_one_place
    drawn = items if _are_collated_alike(pair) else batches
    ours = [_input(pair.run, one) for one in drawn(pair.run, pair.trained)]
    theirs = [_input(pair.run, one) for one in drawn(pair.run, pair.judged)]
    if not ours or not theirs:
        return None
    trained = [one for value in ours for one in standardisations(pair.run, value)]
    common = [one for value in ours for one in _unknown_calls(pair.run, value)]
    if any(_is_open(pair.run, value, common) for value in theirs):
        return []
    if not trained:
        return _moved_apart(pair, ours, theirs)
    judged = [
        replace(one, kind=Kind.OWN) if _is_computed_anew(pair, one, trained) else one
        for value in theirs
        for one in standardisations(pair.run, value)
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


def _divided_apart(pair: LoaderPair) -> list[ScaledApart]:
    """Samples that go through one division, by statistics that do not agree."""
    for ours in collated_items(pair.run, pair.trained):
        for theirs in collated_items(pair.run, pair.judged):
            for one, other in divided_apart(pair.run, ours, theirs):
                if one.by is By.NUMBER:
                    continue  # an evaluation that is scaled besides is another thing
                trained = Standardised(one.value, KINDS[one.by], None)
                judged = (
                    Standardised(other.value, KINDS[other.by], None) if other.by is not By.NUMBER else None
                )
                if judged is None and _is_scaled_later(pair):
                    continue
                fitted = _fitted_at(pair, judged) if judged is not None else None
                return [ScaledApart(trained, judged, _place_of_dataset(pair), pair.judged.site, fitted)]
    return []


def _moved_apart(pair: LoaderPair, ours: Sequence[Value], theirs: Sequence[Value]) -> list[ScaledApart]:
    """Items of one class of data set that are scaled and shifted by other numbers: `x / 255`, `2 * x - 1`."""
    classes = dataset_classes(pair.run, pair.trained) & dataset_classes(pair.run, pair.judged)
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


def _transformed_apart(pair: LoaderPair) -> list[ScaledApart] | None:
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
    named = {id(one.site.node) for one in pipelines(pair.run.index)}
    if chain.site.node is not other.site.node and {id(chain.site.node), id(other.site.node)} <= named:
        return None  # chains that are named for whom they are get compared by what is written there
    if len(ours) != 1 or len(theirs) > 1:
        return None
    if not theirs:
        first = Standardised(ours[0][0], Kind.GIVEN, ours[0][1])
        is_later = _is_scaled_later(pair)
        return [] if is_later else [ScaledApart(first, None, _place_of_dataset(pair), pair.judged.site)]
    (trained, numbers), (judged, other_numbers) = ours[0], theirs[0]
    if numbers is None or other_numbers is None or not _apart(numbers, other_numbers):
        return []
    first = Standardised(trained, Kind.GIVEN, numbers)
    second = Standardised(judged, Kind.GIVEN, other_numbers)
    return [ScaledApart(first, second, _place_of_dataset(pair), pair.judged.site)]


def _are_collated_alike(pair: LoaderPair) -> bool:
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


def _is_computed_anew(pair: LoaderPair, judged: Standardised, trained: Sequence[Standardised]) -> bool:
    """Whether the code that gave training its statistics ran once more, over the data of the evaluation."""
    if judged.kind is not Kind.GIVEN or judged.numbers is not None:
        return False
    known = [one for other in trained if other.kind is Kind.GIVEN for one in statistics_of(pair.run, other)]
    # What is taken over the axes behind the first is each item's own.
    own = [one for one in statistics_of(pair.run, judged) if is_over_items(one)]
    if any(one is other for one in own for other in known):
        return False
    twice = [(one, other) for one in own for other in known if one.site.node is other.site.node]
    again = bool(twice) and not any(are_of_same_data(pair.run, one, other) for one, other in twice)
    return again and _have_other_data(pair)


def _is_drawn_alike(pair: LoaderPair, apart: ScaledApart) -> bool:
    """Whether one function draws both sets at random and scales them: their statistics are alike as well."""
    judged = apart.judged
    if judged is None or judged.kind is not Kind.OWN or judged.site.node is not apart.trained.site.node:
        return False
    return all(has(pair.run, one.value, _comes_from_chance) for one in (judged, apart.trained))


def _comes_from_chance(value: Value) -> bool:
    """Whether a value is drawn, or is what draws it: `np.random.default_rng(seed)`."""
    return is_drawn(value) or (isinstance(value, Applied) and value.callee.endswith(".default_rng"))


def _fitted_at(pair: LoaderPair, judged: Standardised) -> Site | None:
    """Where what the data set of the evaluation was given got its statistics: `Items(val, Scale.of(val))`."""
    own = {id(one) for one in statistics_of(pair.run, judged)} if judged.kind is Kind.OWN else set()
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


def _have_other_data(pair: LoaderPair) -> bool:
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
        if not is_same(left, right, SAME_DEPTH):
            return True
    return False


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


def _is_scaled_later(pair: LoaderPair) -> bool:
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


def _place_of_dataset(pair: LoaderPair) -> Site:
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
