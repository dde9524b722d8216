"""The parts of a network that run for a loss and that no gradient of it gets to: all their ways are cut.

`self.head(self.body(x).detach())` trains a head on a body that nothing teaches, though an optimizer has it. A
part that any way leads back to learns by that way: a trunk that one head is cut off from, an encoder whose
code another term is made of.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stethoscope.program.likenesses import words
from stethoscope.program.loop.configured_optimizers import configured_optimizers
from stethoscope.program.loop.loop_holders import known_holders, losses_of
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.parameter_owners import (
    Holder,
    has_weights,
    holder_of,
    is_inside,
    parts_of,
    unwrapped,
)
from stethoscope.program.loop.random_start import has_random_weights
from stethoscope.program.loop.said_of_parts import is_said_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.objective.gradient_reach import records
from stethoscope.program.objective.own_losses import opened
from stethoscope.program.walk.ancestry import MOST_VALUES, cuts_gradient, quietly
from stethoscope.program.walk.call_arguments import SPREAD, STARRED
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Part,
    Site,
    Table,
    Value,
    inputs,
)

# What gives a value without its history; a comparison or a rounding is left to what it computes.
CUTTING = frozenset({
    *(".detach", ".detach_", "torch.detach", ".numpy", ".item", ".tolist", ".argmax", "torch.argmax"),
    *("torch.tensor", "torch.Tensor", "torch.FloatTensor", "torch.from_numpy", "float"),
    *("numpy.asarray", "numpy.array"),
})  # fmt: skip
# Networks that follow others and get no gradients by design.
FOLLOWING = frozenset(
    {"teacher", "target", "momentum", "ema", "shadow", "average", "avg", "key", "slow", "old"}
)
# In the class of a part's owner: its weights come by another way than by gradients.
MOVED_BY_HAND = re.compile(
    r"requires_grad|\.copy_\(|\.lerp_\(|\.mul_\(|(?<!\))\.data\b|\bload|deepcopy|_foreach_"
)


@dataclass(frozen=True, slots=True, eq=False)
class CutOffPart:
    """A part of a network that an optimizer has, and the place behind which no gradient comes."""

    network: Instance
    name: str
    cut: Site
    holder: Holder


def cut_off_parts(loop: TrainingLoop) -> Iterator[CutOffPart]:
    """The parts of the loop's networks that an optimizer has and that every loss is cut off from."""
    holders = _holders(loop)
    losses = [loss for loss in losses_of(loop) if loss is not None]
    if not holders or not losses or not loop.trace.complete:
        return
    reach = Reach(loop.run)
    reach.follow(losses)
    if reach.is_spent:
        return
    for part, cut in reach.cut_off():
        holder = next((one for one in holders if one.holds(loop.run, part)), None)
        named = _place_of(loop.run, holder, part) if holder is not None else None
        # Where several optimizers take turns, another loss than those of this loop may teach a network.
        is_alone = holder is not None and (len(holders) == 1 or _has_every_loss(loop, holder))
        named = named or (_as_whole(part) if is_alone else None)
        if holder is not None and named is not None and _should_learn(loop, *named, part):
            yield CutOffPart(*named, cut, holder)


def _holders(loop: TrainingLoop) -> list[Holder]:
    if loop.hook is None or loop.trace.by_hand:
        return known_holders(loop)
    return list(configured_optimizers(loop.trace)) or known_holders(loop)


def _has_every_loss(loop: TrainingLoop, holder: Holder) -> bool:
    """Whether a loop makes the steps of an optimizer, and no other place of the walk has a backward pass."""
    steps = (holder_of(loop.trace, move.subject) for move in loop.moves if move.updates)
    elsewhere = any(move.kind is Kind.BACKWARD for move in (*loop.before, *loop.after))
    return loop.is_whole and not elsewhere and any(held == (holder,) for held in steps)


@dataclass(slots=True)
class Reach:
    """Which networks gradients get to on the ways back from losses, and which lie behind a cut alone."""

    run: Execution
    reached: dict[int, Value] = field(default_factory=dict)
    behind: dict[int, tuple[Value, Site]] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)  # networks whose own forward was followed
    seen: set[int] = field(default_factory=set)

    @property
    def is_spent(self) -> bool:
        """Whether there was more to look at than is looked at."""
        return len(self.seen) >= MOST_VALUES

    def follow(self, losses: Iterable[Value]) -> None:
        """First every way that gradients go, then what lies behind the cuts of these."""
        waiting: deque[tuple[Value, Site | None]] = deque((loss, None) for loss in losses)
        behind: deque[tuple[Value, Site | None]] = deque()
        while (waiting or behind) and not self.is_spent:
            value, cut = waiting.popleft() if waiting else behind.popleft()
            if id(value) in self.seen:
                continue
            self.seen.add(id(value))
            cut = cut or self._cut(value)
            ahead = behind if cut is not None else waiting
            if cut is None and cuts_gradient(value):
                continue  # by what it computes, and not because somebody said so
            ahead.extend((one, cut) for one in self._before(value, cut))

    def _cut(self, value: Value) -> Site | None:
        """Where gradients stop at this value, because the program says so."""
        if id(value) in self.run.unrecorded:
            return self.run.unrecorded[id(value)][0]
        if isinstance(value, Applied) and value.callee in CUTTING:
            return value.site
        if isinstance(value, Applied | Delayed) and not records(value.site):
            return value.site
        match value:
            case Part(base=Applied() | Delayed() as tensor, key="data"):
                return tensor.site
        return None

    def _before(self, value: Value, cut: Site | None) -> Iterator[Value]:
        """What a value was made from, with the networks on the way noted."""
        made = self._made(value)
        for network in _networks(value):
            if made is not value:
                self.opened.add(id(network))
            if cut is None:
                self.reached[id(network)] = network
            else:
                self.behind.setdefault(id(network), (network, cut))
        if made is not value:
            yield made  # what was given is met where it is used, unless it was spread
            yield from (
                one for key, one in getattr(value, "keywords", {}).items() if key in (SPREAD, STARRED)
            )
            return
        for given in inputs(value):
            if isinstance(given, Instance) and cut is None:
                self.reached[id(given)] = given  # handed to something that may run it
            yield given

    def _made(self, value: Value) -> Value:
        """What a function or a network of the repository gives: of several outputs the one that is meant."""
        forced = quietly(self.run, value)
        return forced if forced is not value else quietly(self.run, value, opened)

    def cut_off(self) -> Iterator[tuple[Value, Site]]:
        """The outermost networks that lie behind cuts alone."""
        alone = {
            key: one
            for key, one in self.behind.items()
            if key not in self.reached and not self._is_met(one[0])
        }
        for key, (network, cut) in alone.items():
            others = (other for inner, (other, _) in alone.items() if inner != key)
            if not any(is_inside(self.run, network, other) for other in others):
                yield network, cut

    def _is_met(self, network: Value) -> bool:
        """Whether gradients get to a part of a network, or to a whole that was not looked into."""
        for key, other in self.reached.items():
            if is_inside(self.run, other, network):
                return True
            if key not in self.opened and is_inside(self.run, network, other):
                return True
        return False


def _networks(value: Value) -> Iterator[Value]:
    """What runs to give a value: an object of the repository, a layer, or what goes by a name of either."""
    match value:
        case Delayed(callee=FunctionValue(bound=Instance() as network)):
            yield network
        case Part(base=Delayed() | Part() as whole):
            yield from _networks(whole)
        case Applied(maker=Applied() as layer):
            yield layer
        case Applied(callee="()", args=(called, *_)):
            yield from unwrapped(called)


def _place_of(run: Execution, holder: Holder, part: Value) -> tuple[Instance, str] | None:
    """The network that has a part as an attribute, below what an optimizer was given, and its name there."""
    waiting: deque[tuple[Instance, str, Value]] = deque(
        (one, "", one) for one in holder.owners if isinstance(one, Instance)
    )
    seen: set[int] = set()
    while waiting:
        owner, name, one = waiting.popleft()
        if one is part and name:
            return owner, name
        if id(one) in seen or len(seen) >= MOST_VALUES:
            continue
        seen.add(id(one))
        if isinstance(one, Instance):
            waiting.extend((one, key, value) for key, value in one.attributes.items())
        elif isinstance(one, Items | Table | Applied):  # a list of blocks, a chain of layers
            waiting.extend((owner, name, value) for value in parts_of(run, one))
    return None


def _as_whole(part: Value) -> tuple[Instance, str] | None:
    """A whole network that an optimizer was given beside others, by the name of its class."""
    return (part, part.cls.name) if isinstance(part, Instance) else None


def _should_learn(loop: TrainingLoop, network: Instance, name: str, part: Value) -> bool:
    """Whether nothing but a gradient could teach a part, and nobody says that it is not to be taught."""
    if not has_weights(loop.run, part) or FOLLOWING.intersection(words(name)):
        return False
    lineage = loop.run.index.lineage(network.cls)
    if any(is_said_of(one.node, MOVED_BY_HAND, name) for one in lineage) or _is_followed(loop, name):
        return False
    return has_random_weights(loop, network, part, name)


def _is_followed(loop: TrainingLoop, name: str) -> bool:
    """Whether a line takes the weights of a part together with those of another, as averages do."""
    together = re.compile(rf"zip\(.*\b{re.escape(name)}\b")
    return any(
        together.search(line) for source in loop.run.index.program for line in source.text.splitlines()
    )
