"""Which of a line's numbers count, which measure, and whether on training or on held-out data.

Epoch 3 [ 640/60000 (1%)]  Loss: 2.30            an epoch, a position in it, and a loss
Train Loss: 0.3, Acc: 0.8 | Val Loss: 0.4, Acc: 0.7      the second accuracy is the validation's
Test set: Average loss: 0.05, Accuracy: 9850/10000 (98%)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from stethoscope.logs._reading.numbers import number
from stethoscope.logs._text.counting import ALL, BATCH, EPOCH, FOLD, LEAD, POSITION, RANK, STEP, TIMES
from stethoscope.logs._text.grammar import Place
from stethoscope.logs._text.pairs import BLANK, Field, Parsed
from stethoscope.run.names import canonical, in_english, known

FINE = frozenset({STEP, BATCH, POSITION, LEAD})  # counters that move within an epoch
_TOKEN = re.compile(r"[\s_\-./#]+")
# What counts steps, the most telling first; a line may count micro steps beside.
_STEP_WORDS = (
    *(
        "globalstep",
        "global_step",
        "gs",
        "step",
        "steps",
        "update",
        "updates",
        "up",
        "iteration",
        "iterations",
    ),
    *("iter", "iters", "itr", "it", "timestep", "timesteps", "episode", "episodes", "round", "rounds"),
    *("generation", "gen", "s", "t"),
)
_BATCH_WORDS = frozenset(["batch", "batches", "bt", "b", "minibatch", "mb", "i", "batchidx", "idx"])
_EPOCH_WORDS = frozenset({"epoch", "epochs", "ep", "e"})
_FOLD_WORDS = frozenset({"fold", "kfold", "folds"})
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
_HELD_OUT = re.compile(
    r"\b(val|valid|validat(?:ion|ing|e)|eval|evaluat(?:ion|ing|e)|test|dev|testing|held[- _]?out)\b",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"\b(?:train(?:ing)?|trn)\b", re.IGNORECASE)
ROLE_ALONE = re.compile(
    r"(?:train(?:ing)?|trn|val|valid|validation|eval|evaluation|test|testing|dev|held[- _]?out)",
    re.IGNORECASE,
)
_PAIRED = re.compile(
    r"(?P<name>\S[^()\[\]]{0,40}?) ?[(\[]?"
    rf"(?P<first>{ROLE_ALONE.pattern}) ?/ ?(?P<second>{ROLE_ALONE.pattern})[)\]]?",
    re.IGNORECASE,
)
_HEADED = re.compile(r"([^\W\d][\w ]{0,40}):\s*$")
# Signals that are the model's or the optimiser's, on whatever data a line was printed.
_OF_THE_MODEL = frozenset(
    {"lr", "grad_norm", "loss_scale", "epoch", "mem", "param_norm", "update_ratio", "weight", "difficulty"}
)
_SEGMENT = re.compile(r"\||;|\t| - |--")
_TIME_UNITS = frozenset(
    {"ms", "us", "ns", "s", "sec", "secs", "second", "seconds", "m", "min", "h", "hr", "hrs"}
)
_FACTORS = {"k": "1e3", "K": "1e3", "M": "1e6", "B": "1e9", "G": "1e9", "T": "1e12"}


def placed(found: Parsed, line: str) -> list[tuple[str, Field]]:
    """The fields of a line under the names they are kept by: counters first, then signals with their role."""
    counters = _counters(found, line)
    placed: list[tuple[str, Field]] = []
    if found.rank is not None:
        placed.append((RANK, Field("rank", *found.rank)))
    for name, one in counters.items():
        factor = _FACTORS.get(one.unit)
        placed.append((f"{name}{TIMES}{factor}" if factor else name, one))
        if one.total is not None:
            placed.append((name + ALL, Field("", *one.total)))
    taken = {id(one) for one in counters.values()}
    signals = [each for one in found.fields if id(one) not in taken for each in _both(one)]
    placed += _signals(signals, found, line)
    return placed


def _both(one: Field) -> Iterator[Field]:
    """A number and what stands behind its slash, where the name says so: `loss (train/val): 2.12/1.98`."""
    named = _PAIRED.fullmatch(one.name) if one.total is not None else None
    if named is None or one.total is None:
        yield one
        return
    yield replace(one, name=f"{named['first']} {named['name']}", total=None)
    yield replace(
        one, name=f"{named['second']} {named['name']}", start=one.total[0], end=one.total[1], total=None
    )


def _counters(found: Parsed, line: str) -> dict[str, Field]:
    """What a line counts, by kind of counter."""
    counters: dict[str, Field] = {}
    loose: list[Field] = []  # unnamed numbers that the line begins with
    several = len(found.fields) > 1
    for place, one in enumerate(found.fields):
        word = counter_word(one.name) if one.name else ""
        kind = None if _is_of_best(one, found.fields[:place]) else _kind_of(word)
        if kind is not None and one.unit in {"", *_FACTORS} and one.opener in {"", "[", "("}:
            if (word not in _SINGLE or several) and _tells_more(one, counters.get(kind)):
                counters[kind] = one
        elif not one.name and not one.unit and len(loose) == place:
            loose.append(one)
        elif _is_position(one, counted=place == 1 and EPOCH in counters):
            counters.setdefault(POSITION, one)
    for kind, one in _unnamed(loose, set(counters)):
        counters.setdefault(kind, one)
    if EPOCH in counters and counters[EPOCH].unit:
        del counters[EPOCH]
    if EPOCH not in counters and _numbers_its_role(found, line):
        counters[EPOCH] = found.fields[0]
    if found.fields and _opening_role(found) == "val":
        # `Test: [ 10/50]  loss ..` counts the batches of the validation.
        return {kind: one for kind, one in counters.items() if kind in {STEP, EPOCH}}
    return counters


def _is_of_best(counter: Field, before: Sequence[Field]) -> bool:
    """`best 0.31 (epoch 3)`: a place that is behind, and not where the run is."""
    opened = counter.opener == "(" or counter.context.rstrip().endswith("(")
    return opened and bool(before) and _recalls(before[-1])


def _numbers_its_role(found: Parsed, line: str) -> bool:
    """Whether a line begins with its data and the epoch: `Train: 3 [ 10/50] Loss: ..`, `Test: 3 Loss: ..`."""
    if len(found.fields) < 2:
        return False
    first = found.fields[0]
    whole = line[first.start : first.end].isdigit() and not first.unit and first.total is None
    return whole and first.joint == ":" and ROLE_ALONE.fullmatch(first.name) is not None


def counts_of(found: Parsed, line: str) -> dict[str, float]:
    """What a line counts, by kind of counter, as numbers."""
    told = {kind: number(line[one.start : one.end]) for kind, one in _counters(found, line).items()}
    return {kind: value for kind, value in told.items() if value is not None}


def tag_of(found: Parsed) -> str:
    """What a line is about, said before it counts: `lora` in `lora step 10/300 loss 1.73`.

    Only where it says of how many: `best epoch 12` is no place in a run.
    """
    first = found.fields[0] if found.fields else None
    if first is None or first.total is None or counter_word(first.name):
        return ""
    tag, _, word = first.name.rpartition(" ")
    return tag if counter_word(word) else ""


def without_tag(found: Parsed, tag: str) -> Parsed:
    """A line of a log that is all about one thing, which then need not be said."""
    if not tag or tag_of(found) != tag:
        return found
    first, *others = found.fields
    return replace(found, fields=(replace(first, name=first.name.rpartition(" ")[2]), *others))


def tells_something(word: str) -> bool:
    """Whether a word counts, names a role or a signal, and is not only the name of whoever speaks."""
    return bool(counter_word(word) or role_in(word) or known(word))


def _is_position(one: Field, counted: bool) -> bool:
    """Whether an unnamed number is one of a total, in brackets or directly behind the epoch."""
    unnamed = not one.name and not one.unit and one.total is not None
    return unnamed and (one.opener in {"[", "("} or counted)


def _unnamed(loose: list[Field], named: set[str]) -> Iterator[tuple[str, Field]]:
    """What the numbers count that begin a line: `[0/25][50/1583]`, `[1,  2000]`, `10/500`, `[7]`, `100:`."""
    if not loose:
        return
    first, *others = loose
    if first.context.strip(" ([#-" + BLANK):
        return
    second = others[0] if others and (others[0].opener == first.opener) else None
    if second is not None and not {EPOCH, STEP} & named and (second.total is None) == (first.total is None):
        yield EPOCH, first
        yield (BATCH if second.total is None else POSITION), second
    elif first.total is not None:
        yield POSITION, first
    elif not named or first.opener == "":
        yield LEAD, first


def _tells_more(one: Field, other: Field | None) -> bool:
    """Whether a counter is to be taken before another of its kind: global_step before step before iter."""
    if other is None:
        return True
    words = [counter_word(field.name) for field in (one, other)]
    ranks = [_STEP_WORDS.index(word) if word in _STEP_WORDS else len(_STEP_WORDS) for word in words]
    return ranks[0] < ranks[1]


def counter_word(name: str) -> str:
    """The one word of a name that counts something; "" for a name that is no counter's."""
    tokens = [token for token in _TOKEN.split(in_english(name).lower()) if token]
    if "_".join(tokens) in _STEP_WORDS:
        return "_".join(tokens)
    tokens = [token for token in tokens if token not in _BESIDE]
    word = tokens[0].strip("()[]") if len(tokens) == 1 else ""
    return word if _kind_of(word) is not None else ""


def _kind_of(word: str) -> str | None:
    if word in _STEP_WORDS:
        return STEP
    if word in _EPOCH_WORDS:
        return EPOCH
    if word in _FOLD_WORDS:
        return FOLD
    return BATCH if word in _BATCH_WORDS else None


def _signals(fields: list[Field], found: Parsed, line: str) -> Iterator[tuple[str, Field]]:
    """What a line measures, with the role that the words before or a name in the same segment give it."""
    role = opening = _opening_role(found) or _governing_role(fields)
    seen: set[str] = set()
    before, quantity, shared = found.begins, "", False
    bare = {one.name for one in fields if one.name and not _HELD_OUT.search(spaced(one.name))}
    segmented = bool(_SEGMENT.search(line, found.begins))
    inside = ""  # the role of the number that an open bracket stands behind
    for one in fields:
        gap = line[before : one.start]
        before = one.end
        inside = _in_bracket(gap, inside, role)
        said = role_in(one.context) or role_in(one.name)
        if said:
            role = said
        elif segmented and _SEGMENT.search(gap):
            role = role_in(gap) or opening
        name = _signal_name(one)
        if not name:
            continue
        if ROLE_ALONE.fullmatch(name):
            if headed := _HEADED.search(one.context):
                quantity, shared = headed[1], True  # `loss: train 0.3 val 0.4`
            if quantity and (shared or gap.lstrip(" ,;").startswith("(")):
                name = f"{name} {quantity}"
            elif one.unit == "%":
                name = f"{name} (%)"
        else:
            words = name.split()
            quantity = " ".join(word for word in words if not ROLE_ALONE.fullmatch(word))
            shared = bool(words and ROLE_ALONE.fullmatch(words[-1]))  # `loss train: 0.3, val: 0.4`
        # A bare name behind `Val Loss: 0.4,` is validation's where training's came before, or a bar.
        told = said or segmented or opening or inside or name in seen or one.name not in bare
        if told and not role_in(name) and is_of_data(name, role):
            name = f"{role} {name}"
        seen.add(name)
        yield name, one


def _in_bracket(gap: str, inside: str, role: str) -> str:
    """The role of a bracket that stands behind a number that has it: `val loss 0.4 (acc 0.8)`."""
    opened, closed = gap.rfind("("), gap.rfind(")")
    if opened > closed:
        return role
    return "" if closed >= 0 else inside


def is_of_data(name: str, role: str) -> bool:
    """Whether a name must say the role: every measurement on held-out data, and what is taken for one."""
    spoken = canonical(name.partition(TIMES)[0])
    if role == "val":
        return spoken.split("/")[0] not in _OF_THE_MODEL
    return role == "train" and spoken.startswith("val/")


def _governing_role(fields: list[Field]) -> str:
    """The role that the first measurement names, for all of a line: `val loss 0.4951 acc 0.8550`.

    Not where the line names another role, too, or has the same quantity without one.
    """
    measured = [one for one in fields if one.name and is_of_data(one.name, "val") and not _recalls(one)]
    roles = {role for one in measured if (role := role_in(one.context) or role_in(one.name))}
    if len(roles) != 1:
        return ""
    first = measured[0]
    heads = bool(role_in(first.context) or ROLE_ALONE.fullmatch(first.name.partition(" ")[0]))
    heads = heads or canonical(first.name) == "val/loss"  # `val_loss 0.4951 acc 0.8550`
    spoken = [canonical(f"val {' '.join(without_roles(one.name))}") for one in measured]
    return roles.pop() if heads and len(set(spoken)) == len(spoken) else ""


def _recalls(one: Field) -> bool:
    """`(best 0.31 @ 50)`: what was measured before."""
    return "best" in spaced(one.name).lower().split()


def without_roles(name: str) -> list[str]:
    return [word for word in spaced(name).split() if not ROLE_ALONE.fullmatch(word)]


def _opening_role(found: Parsed) -> str:
    """The role that a line opens with: `[VAL] step 3 loss ..`, `Validation epoch 3: ..`, `Test set: ..`."""
    if not found.fields:
        return ""
    first = found.fields[0]
    counts = bool(first.name) and bool(counter_word(first.name) or ROLE_ALONE.fullmatch(first.name))
    said = role_in(first.name) if counts else _role_before_counter(first.name)
    return role_in(first.context) or said


def _role_before_counter(name: str) -> str:
    """The role that stands directly before what counts, behind any other words: `fold-a valid epoch 3`."""
    words = name.split()[-2:]
    return role_in(words[0]) if len(words) == 2 and counter_word(words[1]) else ""


def role_in(text: str) -> str:
    """The data that words name, the last of them: "val", "train", or "" for none."""
    words = spaced(text)
    found = [(m.start(), "val") for m in _HELD_OUT.finditer(words)]
    found += [(m.start(), "train") for m in _TRAINING.finditer(words)]
    return max(found)[1] if found else ""


def spaced(text: str) -> str:
    return in_english(text).replace("_", " ").replace("/", " ")


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


# --- headings ------------------------------------------------------------------------------------------

HELD_OUT, TRAINING = "val", "train"
_DECORATION = " \t=-*#>~_[]()<|\u2192\u21b3"
_MOST_WORDS = 5  # of a heading; more make a sentence
# Sentences about what was measured or is to come, not headings of it.
_TOLD = re.compile(
    r"improve|decrea|increa|sav|best|load|complet|finish|done|skip|size|patience|split", re.IGNORECASE
)


def heading_role(line: str, begins: int = 0) -> str | None:
    """The role that a line announces for the next ones: `Test Error:`, `--- Validation ---`."""
    text = line[begins:].strip()
    if not text or len(text) > 80 or not (role := role_in(text)) or _TOLD.search(text):
        return None
    words = re.findall(r"[^\W\d_]{2,}", text)
    opens = bool(words) and role_in(words[0]) != ""
    announces = text.endswith((":", "...", "\u2026")) or text[0] in _DECORATION
    return role if 0 < len(words) <= _MOST_WORDS and (opens or announces) else None


_HEADING_WORDS = frozenset(
    ["on", "the", "of", "for", "set", "data", "dataset", "split", "results", "result", "running", "start"]
)


def heading_label(line: str, begins: int = 0) -> str:
    """Which data a heading names, "imagenet-v2" or "test"; words that any heading may have are left out."""
    words = [word.strip(_DECORATION + ":.,'\"") for word in in_english(line[begins:]).lower().split()]
    words = [word for word in words if re.search(r"[^\W\d_]", word) and word not in _HEADING_WORDS]
    named = [word for word in words if not ROLE_ALONE.fullmatch(word) and not _role_verb(word)]
    tested = ["test"] if any(word in {"test", "testing"} for word in words) else []
    return " ".join(named or tested)


def _role_verb(word: str) -> bool:
    return _HELD_OUT.fullmatch(word) is not None


def has_role(found: Parsed) -> bool:
    """Whether a line itself says on which data it measured."""
    return any(role_in(one.context) or role_in(one.name) for one in found.fields)


def distinct(places: Iterable[Place]) -> Iterator[Place]:
    seen: set[str] = set()
    for name, start, end in places:
        if name not in seen:
            seen.add(name)
            yield name, start, end
