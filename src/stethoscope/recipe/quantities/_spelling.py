"""A setting as its name tells what it is about: words instead of one spelling."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from stethoscope.run import Key, Recipe, Setting

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAKS = re.compile(r"[^A-Za-z0-9]+")

# Settings of another network than the one that is trained for its own sake.
_ANOTHER_NETWORK = frozenset({"d", "disc", "discriminator", "critic", "teacher", "netd", "adversary"})
_NOT_TRAINING = frozenset(
    {
        *("eval", "evaluation", "val", "valid", "validation", "test", "testing", "inference", "infer"),
        *("predict", "prediction", "sampling", "sampler", "sample", "export", "generation", "generate"),
    }
)
_OTHER_PURPOSES = _NOT_TRAINING | _ANOTHER_NETWORK
_UNITS = {
    "step": "step,steps,iter,iters,iteration,iterations,it,its,update,updates,itr,batches",
    "epoch": "epoch,epochs,nepochs,ep",
    "sample": "sample,samples,images,examples,kimg,mimg,nimg",
    "token": "token,tokens",
    "share": "ratio,frac,fraction,percent,pct,proportion,share,perc",
}
_UNIT_OF_WORD = {word: unit for unit, words in _UNITS.items() for word in words.split(",")}
# Composer writes "10ep", "500ba"; others write "5 epochs".
_NUMBER_WITH_UNIT = re.compile(r"([\d_.]+(?:e[+-]?\d+)?)\s*(ba|batch|ep|epochs?|sp|tok|steps?|iters?|%)")
_SHORT_UNITS = {"ba": "step", "batch": "step", "ep": "epoch", "sp": "sample", "tok": "token", "%": "share"}


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """A setting, or a list of them, and the words of its name.

    `leaf` is the last name in small letters with underscores, `words` are its words and `around` those of
    the sections it stands in. `value` is a list where the setting is one; `number` is the value as a finite
    number, also where it was written so that YAML makes a text of it.
    """

    setting: Setting
    value: object
    name: str
    leaf: str
    words: frozenset[str]
    around: frozenset[str]
    number: float | None
    is_default: bool = False

    @property
    def unit(self) -> str:
        """The unit that the name speaks of; epochs and steps say more than the rest."""
        spoken = {_UNIT_OF_WORD[word] for word in self.words if word in _UNIT_OF_WORD}
        return next((unit for unit in ("share", "epoch", "step", "token", "sample") if unit in spoken), "")

    @property
    def length(self) -> tuple[float, str] | None:
        """A length with its unit, `500` or `"10ep"`."""
        number = self.number
        if number is not None:
            return number, self.unit
        found = (
            _NUMBER_WITH_UNIT.fullmatch(self.value.strip().lower()) if isinstance(self.value, str) else None
        )
        written = as_number(found[1].replace("_", "")) if found else None
        if found is None or written is None:
            return None
        unit = _SHORT_UNITS.get(found[2], _UNIT_OF_WORD.get(found[2], "step"))
        return (written / 100 if found[2] == "%" else written), unit

    @property
    def is_for_training(self) -> bool:
        """Whether it is about the training of the main network, by the words of its name."""
        return _OTHER_PURPOSES.isdisjoint(self.words) and _OTHER_PURPOSES.isdisjoint(self.around)

    def says(self, *words: str) -> bool:
        """Whether any of these words is in its last name."""
        return not self.words.isdisjoint(words)


def spellings(recipe: Recipe) -> Iterator[Spelling]:
    """The settings that count, lists as one, and then the defaults; what only the run knew is left out."""
    seen: set[Key] = set()
    of_deepspeed = deepspeed_sections((*recipe.settings, *recipe.shadowed))
    for settings, is_default in ((recipe.settings, False), (recipe.defaults, True)):
        for key, members in groupby(settings, _key_of_list):
            group = list(members)
            if key in seen or not all(setting.known for setting in group):
                seen.add(key)
                continue
            seen.add(key)
            spelling = _spelling(key, group, is_default)
            if of_deepspeed and is_in_sections(group[0], of_deepspeed):
                spelling = replace(spelling, around=spelling.around | {"deepspeed"})
            yield spelling


Section = tuple[str, Key]
# Keys that nothing but a DeepSpeed config has; what stands beside them is DeepSpeed's, too.
_OF_DEEPSPEED = frozenset({"train_micro_batch_size_per_gpu", "zero_optimization"})


def deepspeed_sections(settings: Iterable[Setting]) -> frozenset[Section]:
    """The files, or sections of them, that are DeepSpeed configs."""
    return frozenset(
        (setting.where.file, setting.key[:depth])
        for setting in settings
        for depth, part in enumerate(setting.key)
        if part in _OF_DEEPSPEED
    )


def is_in_sections(setting: Setting, sections: Iterable[Section]) -> bool:
    """Whether a setting stands in one of these sections."""
    return any(setting.where.file == file and setting.key[: len(above)] == above for file, above in sections)


def _key_of_list(setting: Setting) -> Key:
    return setting.key[:-1] if setting.key and isinstance(setting.key[-1], int) else setting.key


def _spelling(key: Key, group: list[Setting], is_default: bool) -> Spelling:
    is_list = group[0].key != key
    value = [setting.value for setting in group] if is_list else group[0].value
    names = [part for part in key if isinstance(part, str)]
    leaf = words_of(names[-1]) if names else ()
    around = frozenset(word for name in names[:-1] for word in words_of(name))
    name = ".".join(str(part) for part in key)
    words = frozenset(leaf)
    return Spelling(group[0], value, name, "_".join(leaf), words, around, as_number(value), is_default)


@lru_cache(maxsize=65_536)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters."""
    return tuple(word.lower() for word in _BREAKS.split(_CAMEL.sub("_", name)) if word)


def as_number(value: object) -> float | None:
    """A finite number, from a number or from a text that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_numbers(values: object) -> list[float] | None:
    """The numbers of a list, None where one of them is none."""
    if not isinstance(values, Iterable) or isinstance(values, str):
        return None
    numbers = [as_number(value) for value in values]
    return [number for number in numbers if number is not None] if None not in numbers else None
