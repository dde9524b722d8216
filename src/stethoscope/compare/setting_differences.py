"""What two runs were told, where it differs: what was asked for, what takes place, and whether it can act."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.compare.comparison import SettingDifference, SettingDifferences
from stethoscope.run import Recipe, Run, Setting, Where
from stethoscope.signals import training_plan, unused_settings
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import TrainingPlan
from stethoscope.signals.unused_settings import UnusedSettings

SAME = 1e-9  # relative; one file may write 1e-3 and the other 0.001

# What a run is called and where it is kept, who started it, and what is told of it meanwhile.
_CANNOT_MATTER = re.compile(
    r"(?:^|[_.-])(?:name|names|title|id|uuid|tag|tags|note|notes|desc|description|comment|author|user|username|email|host"
    r"|hostname|date|time|timestamp|started|created|version_?id|group|project|entity|job|jobid|pid|port|addr|address"
    r"|url|uri|dir|dirs|directory|folder|path|paths|file|filename|root|output|outputs|out|save_to|exp|experiment"
    r"|run|run_?name|log|logs|logger|logging|log_?dir|log_?level|verbose|print|print_freq|progress|tqdm|wandb|tensorboard"
    r"|tb|mlflow|comet|report_to|debug|notify|webhook)(?:$|[_.-])",
    re.IGNORECASE,
)
_MATTERS_ANYWAY = re.compile(
    r"data|train|val|test|dataset|corpus|checkpoint|ckpt|resume|pretrain|weights|model|init|loss|lr|optim|sched|norm",
    re.IGNORECASE,
)
_SEED = re.compile(r"(?:^|[_.-])(?:seed|random_?state|manual_?seed)s?$", re.IGNORECASE)
_OUTPUT = re.compile(r"log|out|save|result|work|run|exp|tensorboard|wandb|cache|tmp|temp", re.IGNORECASE)
_PATH = re.compile(r"^(?:[~.]{0,2}/|[A-Za-z]:[\\/]|s3://|gs://|hdfs://)")

# These say when something is done that no weight depends on.
_ONLY_WATCHES = frozenset({"evaluation every", "checkpoint every"})


def setting_differences(good: Run, bad: Run) -> SettingDifferences:
    """The settings that differ between two runs."""
    if good.recipe is None or bad.recipe is None:
        return SettingDifferences(unknown=_unknown(good, bad))
    left, right = _Side.of(good, good.recipe), _Side.of(bad, bad.recipe)
    every = [(key, left.value(key), right.value(key)) for key in dict.fromkeys([*left.values, *right.values])]
    unlike = [key for key, one, other in every if not _alike(one, other)]
    told = [_difference(key, left, right) for key in unlike]
    seeds = next(((one.good, one.bad) for one in told if _SEED.search(one.key)), None)
    folded = [one for one in told if _cannot_matter(one)]
    return SettingDifferences(
        tuple(one for one in told if one not in folded), tuple(folded), len(every) - len(unlike), seeds=seeds
    )


def _unknown(good: Run, bad: Run) -> str:
    if good.recipe is None and bad.recipe is None:
        return "no settings were found with either run"
    return f"no settings were found with the {'good' if good.recipe is None else 'bad'} run"


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One run's settings by their keys, the elements of a list together; `None` stands for not set."""

    values: dict[str, object]
    where: dict[str, Where]
    plan: TrainingPlan | None
    unused: frozenset[str]

    @staticmethod
    def of(run: Run, recipe: Recipe) -> _Side:
        values: dict[str, object] = {}
        where: dict[str, Where] = {}
        for key, setting in _named(recipe):
            if setting.key and isinstance(setting.key[-1], int):
                before = values.get(key)
                values[key] = (*before, setting.value) if isinstance(before, tuple) else (setting.value,)
            else:
                values[key] = setting.value
            where.setdefault(key, setting.where)
        for setting in recipe.defaults:
            values.setdefault(setting.dotted, setting.value)
            where.setdefault(setting.dotted, setting.where)
        plan, unused = training_plan.measure(run), unused_settings.measure(run)
        return _Side(
            values,
            where,
            None if isinstance(plan, Missing) else plan,
            _never_used(unused),
        )

    def value(self, key: str) -> object:
        """What a key is set to; None where it is not."""
        return self.values.get(key)


def _named(recipe: Recipe) -> Iterator[tuple[str, Setting]]:
    for setting in recipe:
        key = setting.key[:-1] if setting.key and isinstance(setting.key[-1], int) else setting.key
        yield ".".join(map(str, key)), setting


def _never_used(unused: UnusedSettings | Missing) -> frozenset[str]:
    if isinstance(unused, Missing):
        return frozenset()
    return frozenset(str(place) for one in unused.settings for place in one.where)


def _alike(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if one is None or other is None or isinstance(one, bool) or isinstance(other, bool):
        return _spoken(one) == _spoken(other)
    try:
        mine, theirs = float(str(one)), float(str(other))
    except ValueError:
        return _spoken(one) == _spoken(other)
    return (
        mine == theirs or abs(mine - theirs) <= SAME * max(abs(mine), abs(theirs)) or mine != mine != theirs
    )


def _spoken(value: object) -> str:
    return "" if value is None else str(value).strip().lower()


def _difference(key: str, left: _Side, right: _Side) -> SettingDifference:
    good_where, bad_where = left.where.get(key), right.where.get(key)
    quantity = _quantity(left, good_where) or _quantity(right, bad_where)
    idle = _idle(quantity, [(left, good_where), (right, bad_where)])
    one, other = left.value(key), right.value(key)
    return SettingDifference(
        key,
        one,
        other,
        good_where,
        bad_where,
        quantity,
        _effect(left, quantity),
        _effect(right, quantity),
        idle,
        _acts_from(quantity, one, other),
    )


def _quantity(side: _Side, where: Where | None) -> str:
    """The quantity of the training that a setting asks for, "" for none."""
    if side.plan is None or where is None:
        return ""
    asking = (entry.quantity for entry in side.plan for asked in entry.asked if asked.setting.where == where)
    return next(asking, "")


def _effect(side: _Side, quantity: str) -> str:
    """What takes place, where the log or the source tells."""
    if side.plan is None or not quantity:
        return ""
    taken = side.plan[quantity].in_effect
    return f"{taken[0].amount.value} ({taken[0].how})" if taken else ""


def _idle(quantity: str, sides: list[tuple[_Side, Where | None]]) -> str:
    """Why a setting cannot act on what is learned; "" where it may."""
    if quantity in _ONLY_WATCHES:
        return "it says when the run is watched, not how it learns"
    known = [str(where) in side.unused for side, where in sides if where is not None]
    return "the program never acts on it" if known and all(known) else ""


def _acts_from(quantity: str, one: object, other: object) -> int | None:
    """The first step at which a setting can make a difference, where its value says so."""
    if quantity != "milestones" or not isinstance(one, tuple) or not isinstance(other, tuple):
        return None
    unlike = [pair for pair in zip(one, other, strict=False) if not _alike(*pair)]
    rest = (*one[len(other) :], *other[len(one) :])
    numbers = [float(str(part)) for part in (*(unlike[0] if unlike else ()), *rest) if _is_number(part)]
    return int(min(numbers)) if numbers else None


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _cannot_matter(one: SettingDifference) -> bool:
    """Whether a setting is about the run's name, its place or its seed, and not about what it learns."""
    leaf = one.key.rpartition(".")[2]
    if _SEED.search(one.key):
        return True
    if one.quantity:
        return False
    paths = [_PATH.match(str(value)) for value in (one.good, one.bad) if value is not None]
    if paths and all(paths):
        return bool(_OUTPUT.search(leaf)) or not _MATTERS_ANYWAY.search(leaf)
    if not _CANNOT_MATTER.search(leaf):
        return bool(re.search(r"(?:^|\.)(?:wandb|logger|logging|tensorboard|hydra|mlflow)\.", one.key))
    return _is_text(one) and not _MATTERS_ANYWAY.search(leaf)


def _is_text(one: SettingDifference) -> bool:
    """Whether both values are words, or not there: `group_norm_groups: 8` is a number of the network."""
    return not any(_is_number(value) and not isinstance(value, bool) for value in (one.good, one.bad))
