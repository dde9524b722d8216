"""How many tokens ahead of its input a network's answers are held to.

A causal model that has read a sequence up to a token answers with the next one. Data sets and collators move
the target by one, training loops cut the last answer and the first target off, networks do so inside: each
alone is right, two of them ask for the token after the next. All cuts on the way from the sequence to both
sides of the cross entropy are added up.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import drawn, entry, is_loader
from stethoscope.program.data.hook_batches import batch_given
from stethoscope.program.data.ingredients import LAYOUT, ingredients, part_path
from stethoscope.program.index import Index
from stethoscope.program.objective.own_input import ENTROPIES
from stethoscope.program.objective.trainer_labels import samples_as_made
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.framework_instances import loss_in, made_for_hooks
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Items,
    Outside,
    Part,
    Site,
    Value,
    inputs,
    is_nothing,
)

DEPTH = 40
MOST_VISITED = 1_500
KEEPING = LAYOUT | {
    "tensor", "as_tensor", "from_numpy", "LongTensor", "astype", "long", "int", "clone", "copy", "array",
    "asarray", "pin_memory", "masked_fill", "where", "clamp", "stack", "float", "log_softmax", "bfloat16",
    "numpy", "/", "*",
}  # fmt: skip
REPLACING = frozenset({"masked_fill", "masked_fill_", "where", "masked_scatter", "scatter", "index_fill"})
# Transformers' causal models move the labels that they are given themselves.
MOVES_LABELS = re.compile(r"CausalLM|LMHeadModel|ForConditionalCausal")
# Heads that answer for tokens further on, on purpose.
FURTHER = re.compile(r"(?i)mtp|medusa|multi_?token|lookahead|n_?ahead|future_?steps|horizon|eagle|draft")


@dataclass(frozen=True, slots=True, eq=False)
class FarAnswer:
    """Answers that are held to a token this many places behind the last one that was read.

    `hidden` says that some of the tokens that are read were replaced.
    """

    site: Site
    ahead: int
    target: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a cut of a sequence begins."""

    sequence: object
    start: int


@remembered
def far_answers(index: Index, settings: SettingsTree) -> tuple[FarAnswer, ...]:
    """The cross entropies in training that ask for a token further than the next."""
    answers = _held_answers(index, settings)
    if any(one.ahead < 2 for one in answers):
        return ()
    return tuple(one for one in answers if not FURTHER.search(one.site.source.text))


def copied_answers(index: Index, settings: SettingsTree) -> tuple[FarAnswer, ...]:
    """The cross entropies in training that ask for the very token that was read last, where none asks for
    another."""
    answers = _held_answers(index, settings)
    return answers if all(one.ahead == 0 and not one.hidden for one in answers) else ()


@remembered
def _held_answers(index: Index, settings: SettingsTree) -> tuple[FarAnswer, ...]:
    """Each cross entropy over tokens in training, and how far ahead its target lies, where that is known."""
    found: dict[tuple[int, int], FarAnswer] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for site, target, ahead, hidden in _asked(_with_batch(one, settings)):
                answer = FarAnswer(site, ahead, _written(target), hidden)
                found.setdefault((id(site.node), ahead), answer)
        except (Exhausted, RecursionError):
            continue
    for site, target, ahead in _of_trainers(index, settings):
        found.setdefault((id(site.node), ahead), FarAnswer(site, ahead, _written(target)))
    return tuple(found.values())


def _of_trainers(index: Index, settings: SettingsTree) -> Iterator[tuple[Site, Value, int]]:
    """What a Trainer of transformers hands to a causal model that moves its labels by itself."""
    if not any(MOVES_LABELS.search(source.text) for source in index.program):
        return
    for run, sample, at in samples_as_made(index, settings):
        labels, tokens = entry(sample, "labels"), entry(sample, "input_ids")
        if labels is None or tokens is None:
            continue
        ahead = _between(run, tokens, labels)
        if ahead is not None:
            yield at, labels, ahead + 1


def _with_batch(one: Minimised, settings: SettingsTree) -> Minimised:
    step = one.sink.within[0] if one.sink.within else None
    if step is None or step.name != "training_step" or step.owner is None:
        return one
    run = Execution(one.run.index, settings, STEPS // 2)
    module = made_for_hooks(run, step.owner)
    value = loss_in(run, run.enter(step, module, batch_given(run, module, step)))
    return one if value is None else Minimised(run, type(one.sink)(value, one.sink.site, one.sink.within))


def _asked(one: Minimised) -> Iterator[tuple[Site, Value, int, bool]]:
    """Each cross entropy over tokens with how far ahead its target lies, where both can be followed, and
    whether some of what is read was hidden."""
    for value in ingredients(one.run, one.sink.value, through_networks=True):
        if not isinstance(value, Applied):
            continue
        name = value.callee.removesuffix("()").rpartition(".")[2]
        answer = value.args[0] if value.args else value.keywords.get("input")
        if name in ENTROPIES and answer is not None:
            target = value.args[1] if len(value.args) > 1 else value.keywords.get("target")
            sides = _sides(one.run, answer, target) if target is not None else None
        elif MOVES_LABELS.search(value.callee):
            target = value.keywords.get("labels", value.keywords.get("**"))
            ahead = _given_with_labels(one.run, value)
            sides = (ahead, False) if ahead is not None else None
        else:
            continue
        if sides is not None and target is not None:
            yield value.site, target, *sides


def _sides(run: Execution, answer: Value, target: Value) -> tuple[int, bool] | None:
    wanted = _place(run, target, DEPTH)
    if wanted is None:
        return None
    cut, bare = _cuts(run, answer)
    for given in _tokens_given(run, bare):
        read = _place(run, given, DEPTH)
        if read is not None and read.sequence == wanted.sequence:
            return wanted.start - (read.start + cut), _hides(run, given) or _hides(run, target)
    return None


def _hides(run: Execution, tokens: Value) -> bool:
    """Whether tokens are replaced on their way, as a denoising objective does."""
    return any(
        isinstance(one, Applied) and one.callee.rpartition(".")[2] in REPLACING
        for one in ingredients(run, tokens)
    )


def _given_with_labels(run: Execution, call: Applied) -> int | None:
    """A library's causal model, which holds each answer to the label one further on."""
    batch = call.keywords.get("**")
    if isinstance(batch, Part) and is_loader(part_path(batch)[0]):
        samples = list(drawn(run, batch))
        labels, tokens = (entry(samples[0], key) if samples else None for key in ("labels", "input_ids"))
        ahead = _between(run, tokens, labels) if tokens is not None and labels is not None else None
        return ahead + 1 if ahead is not None else None
    labels = call.keywords.get("labels")
    tokens = call.keywords.get("input_ids", call.args[0] if call.args else None)
    ahead = _between(run, tokens, labels) if tokens is not None and labels is not None else None
    return ahead + 1 if ahead is not None else None


def _between(run: Execution, tokens: Value, labels: Value) -> int | None:
    """How many tokens labels begin behind what is read, where both are cut out of one sequence."""
    try:
        read, wanted = _place(run, tokens, DEPTH), _place(run, labels, DEPTH)
    except (Exhausted, RecursionError):
        return None
    if read is None or wanted is None or wanted.sequence != read.sequence:
        return None
    return wanted.start - read.start


def _cuts(run: Execution, answer: Value) -> tuple[int, Value]:
    """What is cut off the front of the answers along the sequence, and the answers before that."""
    start = 0
    for _ in range(DEPTH):
        match answer:
            case Applied(callee="[]", args=[base, key]):
                begins = _begin(key)
                if begins is None:
                    break
                start, answer = start + begins, base
            case Applied(callee=callee, args=[base, *_]) if callee.rpartition(".")[2] in KEEPING:
                answer = base
            case _:
                break
    return start, answer


def _tokens_given(run: Execution, answer: Value) -> Iterator[Value]:
    """The tokens that a network was given: what it looks up in a table of embeddings."""
    seen: set[int] = set()
    waiting = deque([answer])
    while waiting and len(seen) < MOST_VISITED:
        value = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Applied) and value.args and _reads_tokens(value):
            yield value.args[1] if value.callee == "torch.nn.functional.embedding" else value.args[0]
        elif isinstance(value, Applied) and MOVES_LABELS.search(value.callee) and value.callee[-1] == ")":
            yield from (*value.args[:1], *(arg for key, arg in value.keywords.items() if key == "input_ids"))
        waiting.extend([run.expand(value)] if isinstance(value, Delayed) else inputs(value))


def _reads_tokens(value: Applied) -> bool:
    return value.callee.endswith(("Embedding()", "functional.embedding"))


def _place(run: Execution, value: Value, depth: int) -> _Place | None:
    """The sequence that tokens were cut out of, and where; None where anything else was done to them."""
    if depth == 0:
        return None
    match value:
        case Delayed():
            return _place(run, run.expand(value), depth - 1)
        case Choice(options=options):
            found = {_place(run, option, depth - 1) for option in options}
            return found.pop() if len(found) == 1 else None
        case Part():
            return _in_batch(run, value, depth) or _Place(id(value), 0)
        case Applied(callee="[]", args=[base, key]):
            return _cut(run, base, key, depth)
        case Applied(callee=callee, args=[first, *rest], keywords=keywords):
            name = callee.rpartition(".")[2]
            if name == "roll":
                return _rolled(run, first, rest[0] if rest else keywords.get("shifts"), depth)
            if name in {"cat", "concat", "concatenate", "hstack"} and isinstance(first, Items):
                # What is filled up at the end leaves the beginning where it is.
                return _place(run, first.items[0], depth - 1) if _ends_filled(first) else None
            if name in KEEPING:
                held = first.items[0] if isinstance(first, Items) and first.items else first
                return _place(run, held, depth - 1)
    return _Place(id(value), 0)


def _in_batch(run: Execution, part: Part, depth: int) -> _Place | None:
    base, keys = part_path(part)
    if not is_loader(base) or keys[:1] != ("*",):
        return None
    found = {_place(run, value, depth - 1) for value in drawn(run, part)}
    return found.pop() if len(found) == 1 else None


def _cut(run: Execution, base: Value, key: Value, depth: int) -> _Place | None:
    plain = _begin(key)
    if plain is not None:
        inner = _place(run, base, depth - 1)
        return _Place(inner.sequence, inner.start + plain) if inner is not None else None
    match key:  # a window of a long text: `text[i : i + n]`
        case Applied(
            callee="slice", args=[Applied(callee="+", args=[first, Constant(value=int() as more)]), *_]
        ):
            return _Place((_identity(run, base), _text(first)), more)
        case Applied(callee="slice", args=[first, *_]):
            return _Place((_identity(run, base), _text(first)), 0)
    return None


def _identity(run: Execution, value: Value) -> object:
    inner = _place(run, value, 4)
    return inner.sequence if inner is not None else id(value)


def _text(value: Value) -> str:
    """What tells a beginning from others of the same walk."""
    return " ".join(value.site.text.split()) if isinstance(value, Applied | Delayed) else str(id(value))


def _begin(key: Value) -> int | None:
    """Where a cut along one axis begins; None where more than one axis is cut, or it is not known."""
    cuts = [one for one in (key.items if isinstance(key, Items) else [key]) if not _is_whole(one)]
    if len(cuts) > 1:
        return None
    if not cuts:
        return 0
    match cuts[0]:
        case Applied(callee="slice", args=[first, *_]) if is_nothing(first):
            return 0
        case Applied(callee="slice", args=[Constant(value=int() as start), *_]) if start >= 0:
            return start
    return None


def _is_whole(key: Value) -> bool:
    match key:
        case Constant(value=known):
            return known is ...
        case Applied(callee="slice", args=args):
            return all(map(is_nothing, args))
    return isinstance(key, Outside)


def _rolled(run: Execution, value: Value, shift: Value | None, depth: int) -> _Place | None:
    inner = _place(run, value, depth - 1)
    match shift:
        case Applied(callee="neg", args=[Constant(value=int() as by)]):
            by = -by
        case Constant(value=int() as by):
            pass
        case _:
            return None
    return _Place(inner.sequence, inner.start - by) if inner is not None else None


def _ends_filled(parts: Items) -> bool:
    """Whether only the first of several parts comes from the sequence."""
    if len(parts.items) < 2:
        return bool(parts.items)
    rest = parts.items[1:]
    return all(not any(isinstance(one, Part) for one in inputs(part)) for part in rest)


def _written(value: Value) -> str:
    return " ".join(value.site.text.split())[:60] if isinstance(value, Applied | Delayed) else "the target"
