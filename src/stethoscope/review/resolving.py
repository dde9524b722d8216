"""Which setting of the run a document means: by its key, its end, its variable, its meaning, or its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from stethoscope.recipe.quantities import Asked, asked_for
from stethoscope.review.claim import DOWN, UP, Kind, Proposal
from stethoscope.review.parts import Line
from stethoscope.review.settings_lines import settings_in
from stethoscope.review.values import same, value_of
from stethoscope.run import Key, Program, Recipe, Run, Setting, Where
from stethoscope.run.names import canonical
from stethoscope.run.names import known as known_series

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAKS = re.compile(r"[^A-Za-z0-9]+")
# Words around a name that are not part of it.
_FILLERS = frozenset(
    {
        *("lower", "higher", "slower", "faster", "longer", "shorter", "smaller", "larger"),
        *("bigger", "reduced", "increased", "gentler", "stronger", "softer", "slightly", "further"),
        *("reduce", "increase", "extend", "raise", "decrease", "shorten", "lengthen", "the"),
        *("your", "a", "an", "of", "to", "base", "initial", "peak", "maximum", "max", "overall"),
        *("period", "parameter", "parameters", "value", "values", "setting", "settings", "config"),
        *("amount", "number", "steps", "step", "iterations", "iters", "training", "progression"),
        *("much", "more", "less", "new", "old", "option", "fix", "current", "recommended", "use"),
        *("set", "change"),
    }
)
_BOUNDS = frozenset({"max", "maximum", "base", "initial", "peak"})  # of which a name may need one
BY_QUANTITY = "the quantity"
MOST_SOURCES = 200
LONGEST_SOURCE = 200_000  # characters
_SUBSTANTIAL = 3  # letters of a word that may name a setting by itself
_TRIED = (8, 0.5, 1e-4, 500, True, "cosine", "bf16")  # values that make any quantity recognise its name
# Phrases that name a quantity, where the words alone would not.
_SPOKEN = {
    "lr": "learning_rate",
    "learning rates": "learning_rate",
    "lernrate": "learning_rate",
    "batch": "batch_size",
    "batch sizes": "batch_size",
    "batchgroesse": "batch_size",
    "batchgröße": "batch_size",
    "gradient accumulation": "gradient_accumulation_steps",
    "grad accumulation": "gradient_accumulation_steps",
    "accumulation": "gradient_accumulation_steps",
    "grad accum": "gradient_accumulation_steps",
    "gradient accumulation steps": "gradient_accumulation_steps",
    "gradient clip": "grad_clip",
    "gradient clipping": "grad_clip",
    "grad clipping": "grad_clip",
    "clipping": "grad_clip",
    "grad norm": "max_grad_norm",
    "gradient norm": "max_grad_norm",
    "clip norm": "max_grad_norm",
    "clipping threshold": "max_grad_norm",
    "warmup": "warmup_steps",
    "warm up": "warmup_steps",
    "lr warmup": "warmup_steps",
    "learning rate warmup": "warmup_steps",
    "weight decay": "weight_decay",
    "ema": "ema_decay",
    "ema decay": "ema_decay",
    "amp": "use_amp",
    "mixed precision": "use_amp",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "fp16": "fp16",
    "scheduler": "lr_scheduler",
    "schedule": "lr_scheduler",
    "learning rate schedule": "lr_scheduler",
    "learning rate scheduler": "lr_scheduler",
    "lr schedule": "lr_scheduler",
    "lr scheduler": "lr_scheduler",
    "optimizer": "optimizer",
    "epochs": "epochs",
}


@dataclass(frozen=True, slots=True)
class Known:
    """A setting of the run, a list of them as one."""

    key: Key
    value: object
    where: Where
    text: str = ""
    is_default: bool = False
    is_coded: bool = False  # a constant in the source rather than a setting of a file

    @property
    def dotted(self) -> str:
        """The key as people write it."""
        return ".".join(map(str, self.key))


@dataclass(frozen=True, slots=True)
class Target:
    """What a proposal is about in this run.

    `known` is None where the run does not set it; `key` is then the key that it would have. `how` says by
    what it was found, `quantity` what it is in the terms of a training, "" where it is none of those.
    """

    key: Key
    known: Known | None
    how: str
    quantity: str = ""
    value: object = None
    direction: str = ""

    @property
    def dotted(self) -> str:
        """The key as people write it."""
        return ".".join(map(str, self.key))

    @property
    def leaf(self) -> str:
        """The last named part of the key."""
        return next((part for part in reversed(self.key) if isinstance(part, str)), "")


@dataclass(frozen=True, eq=False)
class Resolver:
    """The settings of a run, to be asked for by any name. `dead` are the names of those never used."""

    run: Run | None
    dead: frozenset[str] = frozenset()
    known: tuple[Known, ...] = field(init=False)
    variables: Mapping[str, Known] = field(init=False)
    asked: Mapping[str, tuple[Asked, ...]] = field(init=False)

    def __post_init__(self) -> None:
        recipe = self.run.recipe if self.run else None
        written = tuple(_known(recipe)) if recipe else ()
        coded = tuple(_coded(self.run.program, written)) if self.run and self.run.program else ()
        object.__setattr__(self, "known", (*written, *coded))
        object.__setattr__(self, "variables", dict(_variables(recipe, written)) if recipe else {})
        object.__setattr__(self, "asked", asked_for(recipe) if recipe else {})

    def target(self, proposal: Proposal) -> Target | None:
        """What a proposal is about; None where its words name nothing."""
        if proposal.kind is not Kind.SETTING:
            return Target(proposal.names[0], None, "", value=value_of(proposal.to))
        value = value_of(proposal.to) if proposal.to else None
        for name in proposal.names:
            if not proposal.to and not proposal.formal and _is_measured(name):
                continue  # a higher loss is what comes of a training
            found = self._named(name, value, proposal)
            if found is not None:
                known, how = found
                return self._target(known, how, value, proposal)
        return self.unset(proposal, value) if proposal.formal or self.run is None else None

    # --- by name ----------------------------------------------------------------------------------------

    def _named(self, name: tuple[str, ...], value: object, proposal: Proposal) -> tuple[Known, str] | None:
        for find, how in (
            (self._by_path, "the key"),
            (self._by_variable, "the variable of the launcher"),
            (self._by_quantity, BY_QUANTITY),
            (self._by_words, "the words"),
        ):
            if how == "the words" and proposal.formal:
                continue
            known = find(name, value)
            if known is None or not (proposal.formal or _fits(known, value, proposal)):
                continue
            if how != "the words" or _is_meant(known, name, proposal):
                return known, how
        return None

    def _by_path(self, name: tuple[str, ...], value: object) -> Known | None:
        wanted = tuple(_folded(part) for part in name if part)
        if not wanted:
            return None
        exact = [k for k in self.known if _names(k.key) == wanted]
        ending = [k for k in self.known if _names(k.key)[-len(wanted) :] == wanted]
        leaves = [k for k in self.known if _names(k.key)[-1:] == wanted[-1:]]
        if exact:
            return self._one(exact, value)
        if len(wanted) > 1 and not ending:
            above = frozenset(wanted[:-1])
            leaves = [k for k in leaves if above & frozenset(_names(k.key)[:-1])] or (
                leaves if len(leaves) == 1 and _is_flat(leaves[0]) else []
            )
        return self._one(ending or leaves, value)

    def _by_variable(self, name: tuple[str, ...], value: object) -> Known | None:
        return self.variables.get(_folded(name[-1])) if len(name) == 1 else None

    def _by_quantity(self, name: tuple[str, ...], value: object) -> Known | None:
        quantity, unit = _measure(name, value)
        if not quantity:
            return None
        asked = self.asked.get(quantity, ())
        # A share of the run is no number of steps.
        fitting = [one for one in asked if not unit or not one.amount.unit or one.amount.unit == unit]
        named = [one for one in fitting if not one.is_default] or fitting
        keys = {one.name for one in named}
        found = self._one([k for k in self.known if k.dotted in keys])
        if found is not None or asked:
            return found
        return self._one(
            [k for k in self.known if k.is_coded and _measure(_names(k.key), k.value) == (quantity, unit)]
        )

    def _by_words(self, name: tuple[str, ...], value: object) -> Known | None:
        """The one setting whose key holds all the words; `Disable X` is about the switch of the section X."""
        spoken = frozenset(_words(" ".join(name)))
        return self._holding(spoken - (_FILLERS - _BOUNDS), value) or self._holding(spoken - _FILLERS, value)

    def _holding(self, words: frozenset[str], value: object) -> Known | None:
        if not words or all(len(word) < _SUBSTANTIAL for word in words):
            return None
        in_leaf = [k for k in self.known if words <= frozenset(_words(_names(k.key)[-1]))]
        in_path = [k for k in self.known if words <= frozenset(_words(" ".join(_names(k.key))))]
        if isinstance(value, bool):
            switches = [k for k in in_path if isinstance(k.value, bool)]
            on = [k for k in switches if _names(k.key)[-1] in {"enabled", "enable", "use", "active", "on"}]
            return self._one(on or switches)
        return self._one(in_leaf) or self._one(in_path)

    def _one(self, found: Iterable[Known], value: object = None) -> Known | None:
        """The only one that is meant; of several, the one that is read, or that has the value already."""
        every = list(found)
        coded = {k.dotted: {str(o.value) for o in every if o.dotted == k.dotted} for k in every if k.is_coded}
        distinct = list({k.dotted: k for k in reversed(every) if len(coded.get(k.dotted, ())) < 2}.values())
        if len(distinct) > 1:
            alive = [k for k in distinct if _names(k.key)[-1] not in self.dead]
            equal = [k for k in distinct if value is not None and same(k.value, value)]
            distinct = alive if len(alive) == 1 else equal[:1] or distinct
        return distinct[0] if len(distinct) == 1 else None

    # --- what becomes of it -----------------------------------------------------------------------------

    def _target(self, known: Known, how: str, value: object, proposal: Proposal) -> Target:
        if proposal.factor is not None and isinstance(known.value, int | float):
            value = float(known.value) * proposal.factor
        quantity = quantity_of(tuple(_text_parts(known.key)), known.value)
        return Target(
            known.key, known, how, quantity, value, proposal.direction or _direction(known.value, value)
        )

    def unset(self, proposal: Proposal, value: object) -> Target | None:
        """A key that the run does not set, in the section that the document puts it into."""
        name = proposal.names[0]
        quantity = quantity_of(name, value)
        if self.run is None and not proposal.formal and not quantity:
            return None
        above = self._section(tuple(_folded(part) for part in name[:-1]))
        key: Key = (*above, name[-1]) if above is not None else name
        return Target(key, None, "", quantity, value, proposal.direction)

    def _section(self, above: tuple[str, ...]) -> Key | None:
        if not above:
            return None
        sections = {k.key[:depth] for k in self.known for depth in range(1, len(k.key))}
        fitting = [s for s in sections if _names(s)[-len(above) :] == above]
        return fitting[0] if len(fitting) == 1 else None


def beside(targets: Iterable[tuple[Proposal, Target]]) -> dict[tuple[int, tuple[str, ...]], Key]:
    """For each block and written section, the section of the run that its known keys stand in."""
    found: dict[tuple[int, tuple[str, ...]], Key] = {}
    for proposal, target in targets:
        if target.known is not None and proposal.kind is Kind.SETTING:
            found.setdefault((proposal.block, proposal.names[0][:-1]), target.key[:-1])
    return found


@lru_cache(maxsize=4096)
def _quantity(key: tuple[str, ...], value: object) -> tuple[str, str]:
    asked = asked_for(Recipe((Setting(key, value, Where()),)))
    return next(((name, found[0].amount.unit) for name, found in asked.items() if found), ("", ""))


def quantity_of(name: tuple[str, ...], value: object) -> str:
    """The quantity of a training that a name speaks of, "" for none."""
    return _measure(name, value)[0]


def _measure(name: tuple[str, ...], value: object) -> tuple[str, str]:
    """The quantity that a name speaks of, and the unit that it names."""
    if len(name) == 1:
        spoken = " ".join(_words(name[0]))
        spoken = " ".join(word for word in spoken.split() if word not in _FILLERS) or spoken
        name = (_SPOKEN.get(spoken, spoken.replace(" ", "_")),)
    candidates = _TRIED if value is None or isinstance(value, list | dict) else (value, *_TRIED)
    return next((found for one in candidates if (found := _quantity(name, one))[0]), ("", ""))


def _known(recipe: Recipe) -> Iterator[Known]:
    """Every setting once, the strongest layer first, lists as one."""
    seen: set[Key] = set()
    for settings, is_default in ((recipe.settings, False), (recipe.defaults, True)):
        lists: dict[Key, list[Setting]] = {}
        for setting in settings:
            is_item = bool(setting.key) and isinstance(setting.key[-1], int)
            key = setting.key[:-1] if is_item else setting.key
            if key not in seen and key:
                lists.setdefault(key, []).append(setting)
        for key, members in lists.items():
            seen.add(key)
            first = members[0]
            if first.key == key:
                yield Known(key, first.value, first.where, first.text, is_default)
            else:
                of_file = [m for m in members if m.where.file == first.where.file]
                yield Known(key, [m.value for m in of_file], first.where, "", is_default)


def _coded(program: Program, written: Iterable[Known]) -> Iterator[Known]:
    """The constants that a source gives to what takes settings, where no file sets them."""
    seen = {_names(k.key)[-1] for k in written if _names(k.key)}
    for source in program.sources[:MOST_SOURCES]:
        if len(source.text) > LONGEST_SOURCE:
            continue
        lines = [Line(number, text) for number, text in enumerate(source.text.split("\n"), start=1)]
        for one in settings_in(lines, "python"):
            if one.call and _folded(one.path[-1]) not in seen:
                yield Known(one.path, value_of(one.value), Where(source.file, line=one.number), is_coded=True)


def _variables(recipe: Recipe, known: Iterable[Known]) -> Iterator[tuple[str, Known]]:
    """The shell variables that hold settings: `GRAD_ACCUM="16"`, which a flag hands on."""
    by_key = {k.dotted: k for k in known}
    texts = {file.file: file.text.split("\n") for file in recipe.files if file.syntax == "shell"}
    for setting in recipe.settings:
        lines = texts.get(setting.where.file)
        line = setting.where.line
        if lines is None or line is None or not setting.through or line > len(lines):
            continue
        variable = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)=", lines[line - 1])
        if variable and setting.dotted in by_key:
            yield _folded(variable[1]), by_key[setting.dotted]


def _fits(known: Known, value: object, proposal: Proposal) -> bool:
    """Whether a phrase of prose can mean this setting: a number for a number, a word for a word."""
    if not proposal.to:
        return isinstance(known.value, int | float) and not isinstance(known.value, bool)
    if isinstance(known.value, bool):
        return isinstance(value, bool) or proposal.names[0] == ("precision",)
    if isinstance(known.value, int | float):
        return isinstance(value, int | float) or value is None
    return True


def _is_measured(name: tuple[str, ...]) -> bool:
    spoken = name[-1].replace(" ", "_")
    return known_series(spoken) and canonical(spoken) != "lr"


def _is_meant(known: Known, name: tuple[str, ...], proposal: Proposal) -> bool:
    """Whether words name a setting: most of its name, or one word of it with something else that fits."""
    words = frozenset(_words(" ".join(name))) - _FILLERS
    leaf = frozenset(_words(_names(known.key)[-1]))
    if len(words) > 1 or words >= leaf:
        return True
    if proposal.before and same(known.value, value_of(proposal.before)):
        return True
    around = frozenset(_words(" ".join(_names(known.key)))) - words
    return bool(around & frozenset(_words(proposal.text)))


def _direction(old: object, new: object) -> str:
    numbers = [one for one in (old, new) if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 2 or same(old, new):
        return ""
    return UP if numbers[1] > numbers[0] else DOWN


def _is_flat(known: Known) -> bool:
    return len(_names(known.key)) == 1


def _text_parts(key: Key) -> list[str]:
    return [part for part in key if isinstance(part, str)]


def _names(key: Key) -> tuple[str, ...]:
    return tuple(_folded(part) for part in key if isinstance(part, str))


def _folded(name: object) -> str:
    return str(name).strip("`'\" ").lstrip("-").lower().replace("-", "_").replace(" ", "_")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _BREAKS.split(_CAMEL.sub(" ", name)) if word]
