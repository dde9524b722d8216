"""The settings that the program never acts on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from stethoscope.program.index import Class, Function, Index, dotted, index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import taken_by_name
from stethoscope.program.settings.option import Option
from stethoscope.program.settings.setting_reads import is_told
from stethoscope.program.settings.setting_uses import SettingUses, Usage, Use, setting_uses
from stethoscope.program.settings.void_arguments import void_arguments
from stethoscope.run import Key, Run, Setting, Where
from stethoscope.signals import unknown_settings
from stethoscope.signals.missing import Missing

MOST_SECTIONS = 50  # with a setting of one name; more are entries of a list, which code goes through
MOST_FORGOTTEN = 3  # constants of one script; more were copied together from another
READ_SHARE = 0.5  # of a file's top-level keys that the program must take

# Words in a name that say that the value changes what is learned.
_TRAINING_WORDS = frozenset(
    {
        *(
            "lr",
            "learning",
            "optimizer",
            "optim",
            "scheduler",
            "schedule",
            "sched",
            "warmup",
            "warm",
            "anneal",
        ),
        *(
            "momentum",
            "nesterov",
            "amsgrad",
            "betas",
            "beta1",
            "beta2",
            "decay",
            "wd",
            "eps",
            "clip",
            "clipping",
            "grad",
            "gradient",
        ),
        *(
            "accum",
            "accumulate",
            "accumulation",
            "ema",
            "swa",
            "amp",
            "fp16",
            "bf16",
            "half",
            "mixed",
            "precision",
        ),
        *(
            "seed",
            "dropout",
            "drop",
            "smoothing",
            "mixup",
            "cutmix",
            "augment",
            "augmentation",
            "aug",
            "freeze",
        ),
        *("frozen", "pretrained", "pretrain", "resume", "restart", "batch", "epochs", "patience", "early"),
        *("weight", "coef", "coeff", "lambda", "margin", "penalty"),
        *("temperature", "sigma", "noise", "milestones", "gamma", "curriculum", "regularization", "l1", "l2"),
    }
)
_OPTIMIZERS = frozenset({"optimizer", "optim", "optimiser", "scheduler", "sched"})
# Settings that launchers pass to every program, or whose purpose is to be printed or stored, such as an
# effective batch.
_EXEMPT = re.compile(
    r"(?:^|_)(?:local_rank|effective|world_size|log|logs|logging|print|verbose|debug|display|report|wandb|tensorboard|tb|mlflow"
    r"|save|saving|quiet|dry|test|eval|visualize|plot|seed_worker|num_workers|workers|help|launcher)(?:_|$)",
    re.IGNORECASE,
)
# The same for what a setting is of: `group` is where a run is filed, `group_dropout` is of a network.
_EXEMPT_THINGS = re.compile(
    r"(?:^|_)(?:rank|node|nodes|dist|port|url|backend|gpu|gpus|device|host|logger|name|note|notes|tag|tags|desc|description"
    r"|version|author|date|project|entity|group|id|comment|progress|dir|path|file|root|folder|type|freq|interval|every"
    r"|output|experiment|exp|doc)(?:_|$)",
    re.IGNORECASE,
)
# Numbers of steps or parts taken together, of which one is as good as none.
_COUNTS = re.compile(r"(?:^|_)(?:accum\w*|cycles?|repeats?|(?:sub|micro)_?batch\w*)(?:_|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UnusedSetting:
    """A setting nothing acts on: where it is set or declared, its value, and the places that mention it.

    `matters` says that its name speaks of training, or that a function is left at its own value instead;
    `is_set` that the run's settings give it a value, or that its default would switch something on.
    """

    name: str
    where: tuple[Where, ...]
    value: object
    mentions: tuple[Where, ...]
    matters: bool
    is_set: bool


@dataclass(frozen=True, slots=True)
class UnusedSettings:
    """All of them, and how many settings were followed."""

    settings: tuple[UnusedSetting, ...]
    followed: int


def measure(run: Run) -> UnusedSettings | Missing:
    """Follow every setting through the program."""
    if run.program is None:
        return Missing(
            "the training source was not found, so nothing tells which settings it uses",
            log_this="keep a copy of the source with the run, or name it by --code",
        )
    uses = setting_uses(run.program, written_names(run))
    if uses is None:
        return Missing("the program is too large to follow its settings")
    wanted = list(_wanted(run, uses))
    void = tuple(_void(run, index(run.program)))
    if not wanted and not void:
        return Missing("the source declares no settings and reads no settings file")
    grouped = _grouped(wanted)
    judged = _but_for_copied_blocks(
        grouped, {name: _judged(name, places, uses) for name, places in grouped.items()}
    )
    found = (*void, *(one for one in judged.values() if isinstance(one, UnusedSetting)))
    used = (places for name, places in grouped.items() if not isinstance(judged[name], UnusedSetting))
    found += tuple(one for places in used for one in _outshone(places, uses))
    escapes = [one for one in judged.values() if isinstance(one, Where)]
    if escapes and not void and len(escapes) == sum(one is not None for one in judged.values()):
        if uses.flow.is_spent:
            return Missing("the program is too large to follow its settings")
        if len(escapes) == len(judged):
            return Missing(
                f"the settings as a whole are handed on at {escapes[0]}, where they cannot be followed"
            )
    return UnusedSettings(found, len(judged) - len(escapes))


def _void(run: Run, known: Index) -> Iterator[UnusedSetting]:
    """The arguments of a framework's trainer that the program's own trainer leaves aside."""
    for void in void_arguments(known):
        for setting in run.recipe or ():
            if setting.key == (void.name,) and setting.value:
                places = (setting.where, void.method.source.where(void.method.node))
                yield UnusedSetting(void.name, places, setting.value, (), True, True)


def written_names(run: Run) -> frozenset[str]:
    """The names in the run's settings files."""
    keys = (setting.key for setting in run.recipe or ())
    return frozenset(part for key in keys for part in key if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A place that sets or declares a setting."""

    name: str
    sections: tuple[str, ...]
    where: Where
    value: object
    option: Option | None = None  # None for a line of a file
    beside: frozenset[str] = frozenset()  # the names in the sections around a line of a file


def _wanted(run: Run, uses: SettingUses) -> Iterator[Wanted]:
    """The settings of the run's files, where the program reads files, and the options it declares."""
    if uses.reads_files and run.recipe is not None:
        unknown = _unknown(run)
        for file in run.recipe.files:
            settings = [setting for setting in run.recipe if setting.where.file == file.file]
            if _is_of_published_model(settings):
                continue
            if file.syntax != "shell" and _is_read_here(settings, uses):
                # What an alias or an interpolation takes over is used by what takes it.
                lent = {place for s in settings for place in s.through}
                own = [s for s in settings if s.where not in lent]
                known = [s for s in own if not f"{s.dotted}.".startswith(unknown)]
                sections = _sections(settings)
                beside = {above: _beside(above, sections) for above in {s.key[:-1] for s in known}}
                yield from (_of_file(s, beside[s.key[:-1]]) for s in known)
    yield from _typed(run, uses)
    for option in uses.options:
        if option.kind != "constant" or speaks_of_training(option.name):
            yield _of_option(option)


def _is_of_published_model(settings: Iterable[Setting]) -> bool:
    """Whether a file describes a network for `from_pretrained`, which reads it without the program's help."""
    top = {str(setting.key[0]) for setting in settings if setting.key}
    return "transformers_version" in top or {"architectures", "model_type"} <= top


def _typed(run: Run, uses: SettingUses) -> Iterator[Wanted]:
    """What a launcher passes to options that the program declares; its other words are for other programs."""
    declared = {option.name for option in uses.options}
    for file in run.recipe.files if run.recipe is not None else ():
        if file.syntax == "shell":
            own = (s for s in run.recipe or () if s.where.file == file.file and len(s.key) == 1)
            yield from (_of_file(setting) for setting in own if setting.leaf in declared)


def _is_read_here(settings: list[Setting], uses: SettingUses) -> bool:
    """Whether a file is read by this program, and not by a tool it calls: most of its keys are taken here."""
    top = {str(setting.key[0]) for setting in settings if setting.key}
    taken = sum(uses.takes(name) for name in top)
    return taken >= READ_SHARE * len(top)


def _unknown(run: Run) -> tuple[str, ...]:
    """The keys that are reported as unknown: that nothing uses them goes without saying."""
    measured = unknown_settings.measure(run)
    return () if isinstance(measured, Missing) else tuple(f"{one.name}." for one in measured.settings)


def _of_file(setting: Setting, beside: frozenset[str] = frozenset()) -> Wanted:
    names = [part for part in setting.key if isinstance(part, str)]
    return Wanted(setting.leaf, tuple(names[:-1]), setting.where, setting.value, None, beside)


def _sections(settings: Iterable[Setting]) -> dict[Key, set[str]]:
    """The names of settings and sections in each section of a file; the file itself is the empty key."""
    found: dict[Key, set[str]] = {}
    for setting in settings:
        for depth, part in enumerate(setting.key):
            if isinstance(part, str):
                found.setdefault(setting.key[:depth], set()).add(part)
    return found


def _beside(key: Key, sections: Mapping[Key, set[str]]) -> frozenset[str]:
    """The names of all settings and sections in a section and those that hold it, the file's own included."""
    around = (sections.get(key[:depth], set()) for depth in range(len(key) + 1))
    return frozenset(chain.from_iterable(around))


def wanted_settings(run: Run, uses: SettingUses) -> dict[str, list[Wanted]]:
    """Every setting that is followed, by its name."""
    return _grouped(_wanted(run, uses))


def _of_option(option: Option) -> Wanted:
    return Wanted(option.name, option.sections, option.where, option.default, option)


def _grouped(wanted: Iterable[Wanted]) -> dict[str, list[Wanted]]:
    """All places that set or declare one name: an option with a flag and a line in a file is one setting."""
    groups: dict[str, list[Wanted]] = {}
    for one in wanted:
        if one.name and not (is_exempt(one.name) and not _is_number_of_training(one)):
            groups.setdefault(one.name, []).append(one)
    return groups


def _is_number_of_training(one: Wanted) -> bool:
    """`drop_path: 0.1` is of a network: what a path, a group or a file is called is no fraction."""
    is_thing = not _EXEMPT.search(one.name) and isinstance(one.value, float)
    return is_thing and speaks_of_training(one.name)


def _judged(name: str, places: list[Wanted], uses: SettingUses) -> UnusedSetting | Where | None:
    """The setting if nothing acts on it, the place where it gets lost, or None where it is used."""
    usages: dict[tuple[object, ...], Usage] = {}
    for place in places:
        # The entries of a list have all of this in common.
        asked = (id(place.option), place.sections, place.beside)
        if asked not in usages:
            usages[asked] = usage_of(place, places, uses)
            if usages[asked].use is Use.USED:
                return None
    lost = next((usage.where for usage in usages.values() if usage.use is Use.ESCAPED), None)
    if lost is not None:
        return lost
    mentions = tuple(dict.fromkeys(place for usage in usages.values() for place in usage.mentions))
    in_file = [place for place in places if place.option is None]
    first = (in_file or places)[0]
    is_dropped = isinstance(first.value, float) and _is_handed_on(name, mentions, uses)
    if not speaks_of_training(name) and mentions and not is_dropped:
        return None  # a value that is printed on purpose
    where = tuple(dict.fromkeys(place.where for place in (*in_file, *places)))
    left_at_default = _is_number(first.value) and _has_a_default(name, uses)
    asks = asks_for_something(name, first.value)
    is_set = asks or (bool(in_file) and (left_at_default or not _asks_for_nothing(first.value)))
    matters = speaks_of_training(name) or is_dropped or left_at_default or _is_of_optimizer(first)
    return UnusedSetting(name, where, first.value, mentions, matters, is_set)


Judged = UnusedSetting | Where | None


def _but_for_copied_blocks(
    grouped: Mapping[str, list[Wanted]], judged: dict[str, Judged]
) -> dict[str, Judged]:
    """The same, but what a script only holds because it came with a block of constants does not matter."""
    unread: dict[str | None, dict[str, UnusedSetting]] = {}
    for name, one in judged.items():
        kinds = {place.option.kind if place.option else "" for place in grouped[name]}
        if isinstance(one, UnusedSetting) and kinds == {"constant"} and not one.mentions:
            unread.setdefault(one.where[0].file, {})[name] = one
    copied = {
        name: one for each in unread.values() if len(each) > MOST_FORGOTTEN for name, one in each.items()
    }
    return judged | {name: replace(one, matters=False) for name, one in copied.items()}


def _asks_for_nothing(value: object) -> bool:
    """Whether a value switches nothing on: what nothing acts on and asks for nothing is as it should be."""
    return value is None or (isinstance(value, bool | int | float) and not value)


def _is_of_optimizer(place: Wanted) -> bool:
    """`optimizer.rate: 0.01`: a number in the section of the optimizer or of its schedule."""
    around = place.sections[-1:] if _is_number(place.value) else ()
    return any(_OPTIMIZERS.intersection(words(section)) for section in around)


def _is_handed_on(name: str, mentions: Iterable[Where], uses: SettingUses) -> bool:
    """Whether a part of the program asks for the value, `Augment(gain=hp["gain"])`, and leaves it lying."""
    places = set(mentions)
    for spot in taken_by_name(name, uses.code):
        parent = uses.code.parents.get(id(spot.node)) if spot.where in places else None
        call = uses.code.parents.get(id(parent)) if isinstance(parent, ast.keyword) else parent
        if isinstance(call, ast.Call) and spot.node is not call.func:
            known = uses.code.index
            target = known.resolve(known.module_of(spot.source), dotted(call.func) or "")
            if isinstance(target, Class | Function) and not is_told(spot.node, uses.code):
                return True
    return False


def _has_a_default(name: str, uses: SettingUses) -> bool:
    """Whether a function of the program has a parameter of this name, which is then left at its default."""
    return name in _defaulted(uses.code.index)


@remembered
def _defaulted(known: Index) -> frozenset[str]:
    """The parameters of functions that have a number as their default."""
    found: set[str] = set()
    for function in known.functions:
        spec = function.node.args
        placed = (*spec.posonlyargs, *spec.args)
        pairs = [*zip(placed[len(placed) - len(spec.defaults) :], spec.defaults, strict=True)]
        pairs += [
            (arg, default)
            for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
            if default is not None
        ]
        for arg, default in pairs:
            if isinstance(default, ast.Constant) and _is_number(default.value):
                found.add(arg.arg)
    return frozenset(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _outshone(places: list[Wanted], uses: SettingUses) -> Iterator[UnusedSetting]:
    """The settings of a name that is used, but in other sections than theirs."""
    paths = {(*place.sections, place.name): place for place in places if place.sections}
    if len(paths) < 2 or len(paths) > MOST_SECTIONS or any(place.option is not None for place in places):
        return
    for path, place in paths.items():
        if not (speaks_of_training(place.name) or _is_of_optimizer(place)):
            continue
        rivals = frozenset(other.sections[-1] for other in paths.values()) - {place.sections[-1]}
        usage = uses.of(place.name, place.sections, place.beside, rivals) if rivals else None
        is_unused = usage is not None and usage.use is Use.UNUSED and not usage.mentions
        if (is_unused or uses.is_left_lying(path, place.where.file)) and asks_for_something(
            place.name, place.value
        ):
            name = ".".join(path[-2:])
            yield UnusedSetting(name, (place.where,), place.value, (), True, True)


def usage_of(place: Wanted, places: list[Wanted], uses: SettingUses) -> Usage:
    """What becomes of one place's value.

    A flag that a launcher passes is the option it is declared as, and so is a line of a section whose record
    declares it.
    """
    if place.option is not None:
        return uses.of_option(place.option)
    declared = [other.option for other in places if other.option is not None]
    if declared and not place.sections:
        return uses.of_option(declared[0])
    if len(declared) == 1 and uses.is_section_of(place.sections[-1], declared[0]):
        return uses.of_option(declared[0])
    usage = uses.of(place.name, place.sections, place.beside)
    if usage.use is Use.UNUSED or declared or place.where.file is None:
        return usage
    is_left = uses.is_left_lying((*place.sections, place.name), place.where.file)
    return Usage(Use.UNUSED) if is_left else usage


@lru_cache(maxsize=65_536)  # files of one project share most of their names
def is_exempt(name: str) -> bool:
    """Whether a setting is one that launchers pass to every program, or that is there to be printed."""
    if _EXEMPT.search(name):
        return True
    last = name.rpartition("_")[2]
    is_of_training = bool(last) and speaks_of_training(last)
    return bool(_EXEMPT_THINGS.search(name)) and not is_of_training


@lru_cache(maxsize=65_536)
def speaks_of_training(name: str) -> bool:
    """Whether a setting's name says that its value changes what is learned."""
    parts = re.split(r"[_\W]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return bool(_TRAINING_WORDS.intersection(parts))


def asks_for_something(name: str, default: object) -> bool:
    """Whether a default asks for anything: None, False, 0, "" and "none" do not, nor does one of a count."""
    if _COUNTS.search(name) and default == 1:
        return False
    return bool(default) and default != "none" and default != -1
