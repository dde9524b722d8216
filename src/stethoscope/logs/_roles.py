"""Which of a line's numbers count, which measure, and whether on training or on held-out data.

Epoch 3 [ 640/60000 (1%)]  Loss: 2.30            an epoch, a position in it, and a loss
Train Loss: 0.3, Acc: 0.8 | Val Loss: 0.4, Acc: 0.7      the second accuracy is the validation's
Test set: Average loss: 0.05, Accuracy: 9850/10000 (98%)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stethoscope.logs._counting import ALL, BATCH, EPOCH, LEAD, POSITION, RANK, STEP, TIMES
from stethoscope.logs._grammar import Place
from stethoscope.logs._pairs import BLANK, Field, Parsed
from stethoscope.run.names import known

FINE = frozenset({STEP, BATCH, POSITION, LEAD})  # counters that move within an epoch
_TOKEN = re.compile(r"[\s_\-./#]+")
_STEP_WORDS = frozenset(
    [
        "step",
        "steps",
        "iter",
        "iters",
        "iteration",
        "iterations",
        "it",
        "itr",
        "update",
        "updates",
        "globalstep",
        "global_step",
        "gs",
        "s",
        "t",
    ]
)
_BATCH_WORDS = frozenset(["batch", "batches", "bt", "b", "minibatch", "mb", "i", "batchidx", "idx"])
_EPOCH_WORDS = frozenset({"epoch", "epochs", "ep", "e", "\u8f6e\u6b21"})
# Words beside a counter's own that do not make another quantity of it.
_BESIDE = frozenset(
    [
        "train",
        "training",
        "global",
        "current",
        "cur",
        "num",
        "number",
        "no",
        "nr",
        "idx",
        "index",
        "count",
        "optimizer",
        "opt",
        "total_",
        "tr",
        "trainer",
        "val",
        "valid",
        "validation",
        "eval",
        "evaluation",
        "test",
        "dev",
    ]
)
_SINGLE = frozenset(
    ["s", "t", "e", "i", "b"]
)  # counters only where a line has a loss or another counter beside
_HELD_OUT = re.compile(r"\b(val|valid|validation|eval|evaluation|test|dev|testing)\b", re.IGNORECASE)
_TRAINING = re.compile(r"\btrain(?:ing)?\b", re.IGNORECASE)
_SEGMENT = re.compile(r"\||;|\t| - |--")
_TIME_UNITS = frozenset(
    {"ms", "us", "ns", "s", "sec", "secs", "second", "seconds", "m", "min", "h", "hr", "hrs"}
)
_FACTORS = {"k": "1e3", "K": "1e3", "M": "1e6", "B": "1e9", "G": "1e9", "T": "1e12"}


def placed(found: Parsed, line: str) -> list[tuple[str, Field]]:
    """The fields of a line under the names they are kept by: counters first, then signals with their role."""
    counters = _counters(found)
    placed: list[tuple[str, Field]] = []
    if found.rank is not None:
        placed.append((RANK, Field("rank", *found.rank)))
    for name, one in counters.items():
        factor = _FACTORS.get(one.unit)
        placed.append((f"{name}{TIMES}{factor}" if factor else name, one))
        if one.total is not None:
            placed.append((name + ALL, Field("", *one.total)))
    taken = {id(one) for one in counters.values()}
    signals = [one for one in found.fields if id(one) not in taken]
    placed += _signals(signals, found, line)
    return placed


def _counters(found: Parsed) -> dict[str, Field]:
    """What a line counts, by kind of counter."""
    counters: dict[str, Field] = {}
    loose: list[Field] = []
    several = len(found.fields) > 1
    for place, one in enumerate(found.fields):
        kind = _counter_kind(one.name) if one.name else None
        if kind is not None and one.unit in {"", *_FACTORS} and one.opener in {"", "[", "("}:
            single = one.name.lower() in _SINGLE
            if kind not in counters and (not single or several):
                counters[kind] = one
            continue
        if not one.name and not one.unit:
            if one.total is not None and (one.opener in {"[", "("} or place == 0):
                counters.setdefault(POSITION, one)
            elif (one.opener == "[" and place == 0) or (one.joint == "," and loose):
                loose.append(one)
            elif place == 0 and not one.context.strip(" ([#-" + BLANK):
                counters.setdefault(LEAD, one)
    if len(loose) == 2 and not {EPOCH, STEP} & set(counters):
        counters[EPOCH], counters[BATCH] = loose  # the tutorial's `[1,  2000] loss: 2.216`
    elif loose and not counters:
        counters[LEAD] = loose[0]
    if EPOCH in counters and found.fields and counters[EPOCH].unit:
        del counters[EPOCH]
    return counters


def _counter_kind(name: str) -> str | None:
    """What a name counts; None for a name that is no counter's."""
    tokens = [token for token in _TOKEN.split(name.lower()) if token and token not in _BESIDE]
    if len(tokens) != 1:
        return None
    word = tokens[0].strip("()[]")
    if word in _STEP_WORDS:
        return STEP
    if word in _EPOCH_WORDS:
        return EPOCH
    return BATCH if word in _BATCH_WORDS else None


def _signals(fields: list[Field], found: Parsed, line: str) -> Iterator[tuple[str, Field]]:
    """What a line measures, with the role that the words before or a name in the same segment give it."""
    role = opening = _opening_role(found)
    seen: set[str] = set()
    before = found.begins
    bare = {one.name for one in fields if one.name and not _HELD_OUT.search(_spaced(one.name))}
    segmented = bool(_SEGMENT.search(line, found.begins))
    for one in fields:
        gap = line[before : one.start]
        before = one.end
        said = _role_in(one.context) or _role_in(one.name)
        if said:
            role = said
        elif segmented and _SEGMENT.search(gap):
            role = _role_in(gap) or opening
        name = _signal_name(one)
        if not name:
            continue
        # A bare name behind `Val Loss: 0.4,` is validation's where training's came before, or a bar.
        told = said or segmented or opening or name in seen or one.name not in bare
        if role == "val" and told and not _HELD_OUT.search(_spaced(name)):
            name = f"val {name}"
        seen.add(name)
        yield name, one


def _opening_role(found: Parsed) -> str:
    """The role that a line opens with: `[VAL] step 3 loss ..`, `Validation epoch 3: ..`, `Test set: ..`."""
    if not found.fields:
        return ""
    first = found.fields[0]
    counts = _counter_kind(first.name) is not None if first.name else False
    return _role_in(first.context) or (_role_in(first.name) if counts else "")


def _role_in(text: str) -> str:
    spaced = _spaced(text)
    found = [(m.start(), "val") for m in _HELD_OUT.finditer(spaced)]
    found += [(m.start(), "train") for m in _TRAINING.finditer(spaced)]
    return max(found)[1] if found else ""


def _spaced(text: str) -> str:
    return text.replace("_", " ").replace("/", " ")


def _signal_name(one: Field) -> str:
    """The name to keep a number by; "" for a number that is none of the log's signals."""
    if not one.name:
        return one.unit if "/" in one.unit else ""
    if one.unit in _TIME_UNITS and one.joint == " " and not known(one.name):
        return ""
    wordy = one.name.count(" ") >= 2
    if one.joint == " " and wordy and not known(one.name):
        return ""  # a sentence, not a name
    if one.total is not None and not known(one.name):
        return ""  # files, samples, shards: 3 of 10
    factor = _FACTORS.get(one.unit)
    return f"{one.name}{TIMES}{factor}" if factor else one.name


def distinct(places: Iterable[Place]) -> Iterator[Place]:
    seen: set[str] = set()
    for name, start, end in places:
        if name not in seen:
            seen.add(name)
            yield name, start, end
