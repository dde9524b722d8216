"""What counts in a loss and should not: padding, void labels, pixels without a reading."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import batch_parts, collated, drawn, drawn_from, entry, is_loader
from stethoscope.program.data.fitted_loaders import fitted_loaders
from stethoscope.program.data.ingredients import ingredients, part_path, peeled
from stethoscope.program.data.training_data import TrainingLoader, training_loaders
from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.objective.addends import DEPTH, addends_of
from stethoscope.program.objective.diluted_means import diluted
from stethoscope.program.objective.empty_channels import lacks_channels
from stethoscope.program.objective.loss_masks import (
    TOLD_LENGTHS,
    is_comparison,
    is_left_open,
    is_loss,
    is_of_classes,
    marks_valid,
    may_mask,
    may_weigh_out,
    names_mask,
    option_of,
    picks_by,
    takes_out,
    weighs_by_marks,
)
from stethoscope.program.objective.own_losses import opened
from stethoscope.program.objective.padded_tokens import (
    filler_of,
    is_ignored,
    pads,
    pads_tokens,
    unless_taken_out,
)
from stethoscope.program.objective.paddings import CHANNELS, TOKENS, is_size, paddings
from stethoscope.program.objective.pads_in_sight import pads_in_sight
from stethoscope.program.objective.trainer_collators import collator
from stethoscope.program.objective.trainer_labels import labels_as_made
from stethoscope.program.objective.void_labels import replaced_mark
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.call_arguments import SPREAD
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.framework_instances import SAMPLES
from stethoscope.program.walk.given_back import moved
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import (
    callable_name,
    comes_from_model,
    is_model_call,
    is_network_pass,
)
from stethoscope.program.walk.values import (
    Applied,
    Delayed,
    Items,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
)

__all__ = ["CHANNELS", "DILUTED", "ONE_SIDED", "TOKENS", "VOID", "PaddedLoss", "Padding", "padding_in_loss"]

VOID, ONE_SIDED, DILUTED = "void", "one-sided", "diluted"
LOSS_WORDS = frozenset({"loss", "losses", "criterion", "criteria", "objective", "fn", "func", "ce", "xent"})
MODEL_MAKERS = frozenset({"from_pretrained", "from_config", "create_model", "get_peft_model"})
REGRESSIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
# What an object that is not known makes vectors of tokens by.
EMBEDDING = (".encode_", ".embed", ".get_text_features", ".get_image_features")
MOST_TERMS = 16
MOST_MASKS = 60  # values looked at in search of a mask beside a loss


@dataclass(frozen=True, slots=True, eq=False)
class PaddedLoss:
    """Something of one kind that counts in a loss: where it is made, the loss, and its backward pass."""

    kind: str
    made: Site
    loss: Site
    sink: Site


@dataclass(frozen=True, slots=True, eq=False)
class Padding:
    """What was found, and how many losses were computed from batches whose making could be followed."""

    followed: int
    reaching: tuple[PaddedLoss, ...]


@remembered
def padding_in_loss(index: Index, settings: SettingsTree) -> Padding:
    """Follow what each loss is computed from back into the data set, and look for padding there."""
    found: dict[object, PaddedLoss] = {}
    followed = 0
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            source = _framework_loader(one, settings)
            for term in _terms(one):
                objective = _Objective(one, term, source)
                followed += objective.is_followed or any(True for _ in objective.widened())
                for padded in objective.padded():
                    found.setdefault((padded.kind, id(padded.made.node)), padded)
        except (Exhausted, RecursionError):
            continue
    for labels in _by_trainers(index, settings):
        followed += 1
        if labels is not None:
            found.setdefault((labels.kind, id(labels.made.node)), labels)
    for run, made, trainer in labels_as_made(index, settings):
        followed += 1
        at = next((site for kind, site in paddings(run, made) if kind == TOKENS), None)
        if at is not None:
            written = made.site if isinstance(made, Applied) else at
            found.setdefault((TOKENS, id(at.node)), PaddedLoss(TOKENS, at, written, trainer))
    return Padding(followed, tuple(found.values()))


def _terms(one: Minimised) -> list[Value]:
    """The terms of a minimised value: what takes the padding out of one leaves it in the others."""
    value = opened(one.run, one.sink.value)
    terms = [addend.value for addend in addends_of(one.run, value, DEPTH)]
    return terms if 1 < len(terms) <= MOST_TERMS else [value]


class _Objective:
    """A term of a minimised value with all that leads to it outside of networks."""

    def __init__(self, one: Minimised, value: Value, source: tuple[str, TrainingLoader] | None) -> None:
        self.run = one.run
        self.sink = one.sink.site
        self.source = source
        self.term = value
        self.values = list(ingredients(one.run, value, leading=self._leading))
        self.above = self._parents(value)
        self.parts = self._batch_parts()
        self.is_followed = any(True for part in self.parts for _ in self._drawn(part)) or any(
            (isinstance(value, Leaf) and value.name == SAMPLES)
            or (isinstance(value, Applied) and pads_tokens(value))
            for value in self.values
        )

    def padded(self) -> Iterator[PaddedLoss]:
        """What reaches the loss and should not."""
        for kind, made, loss in self._marked():
            yield PaddedLoss(kind, made, loss, self.sink)
        for made, loss in self._padded_labels():
            yield PaddedLoss(TOKENS, made, loss, self.sink)
        for mean in (one for one in self.values if isinstance(one, Applied)):
            loss_of_each = diluted(mean)
            if loss_of_each is not None and not self._is_masked_above(mean):
                yield PaddedLoss(DILUTED, loss_of_each.site, mean.site, self.sink)
        if self._is_masked():
            return
        for padded in self._made_here():
            yield PaddedLoss(TOKENS, padded.site, self._loss_of(padded), self.sink)
        for joined in self.widened():
            yield PaddedLoss(CHANNELS, joined.site, self._loss_of(self.parts[0]), self.sink)
        for part in self.parts:
            for run, value in self._drawn(part):
                for kind, site in paddings(run, value):
                    if kind != CHANNELS or not self._is_cut(part):
                        yield PaddedLoss(kind, site, self._loss_of(part), self.sink)

    def _made_here(self) -> Iterator[Applied]:
        """Padding in batches that no loader draws, and that nothing is compared with."""
        if any(isinstance(one, Applied) and is_comparison(one) for one in self.values):
            return
        yield from (one for one in self._outside_batches() if isinstance(one, Applied) and pads_tokens(one))

    def _outside_batches(self) -> Iterator[Value]:
        """All that leads to the loss, but what loaders hold beside the part that is asked for."""
        return ingredients(
            self.run, self.term, leading=lambda one: () if self._is_drawn(one) else self._leading(one)
        )

    def widened(self) -> Iterator[Applied]:
        """Data that is widened by channels of zeros on its way into the loss, as many as it lacks."""
        for one in self.values if self.parts else ():
            if isinstance(one, Applied) and lacks_channels(one) and not self._is_cut(one):
                yield one

    def _padded_labels(self) -> Iterator[tuple[Site, Site]]:
        """Pads among the labels of a cross entropy that are none of those it is told to ignore."""
        is_masked = self._is_masked()
        for loss in self.values:
            if not (isinstance(loss, Applied) and is_of_classes(loss)):
                continue
            ignored = option_of(loss, "ignore_index")
            # What is one number already has its pads in it, whatever it is multiplied with.
            if (ignored is None and is_masked) or is_left_open(loss):
                continue
            if option_of(loss, "weight") is not None and (ignored is None or may_weigh_out(self.run, loss)):
                continue
            target = loss.args[1] if len(loss.args) > 1 else loss.keywords.get("target")
            for run, value in self._made_of(target) if target is not None else ():
                for made in pads(run, value):
                    if not is_ignored(filler_of(made), ignored):
                        yield made.site, loss.site
            if ignored is None and target is not None and loss.args and not self._picks_some(target):
                for seen in pads_in_sight(self.run, loss.args[0], target):
                    yield seen, loss.site

    def _picks_some(self, target: Value) -> bool:
        """Whether some of the labels were taken out or marked before they reach the loss."""
        below = ingredients(self.run, target, leading=_outside_loaders)
        kept = {id(one) for one in ingredients(self.run, target, leading=unless_taken_out)}
        return any(id(one) not in kept for one in below)

    def _made_of(self, target: Value) -> Iterator[tuple[Execution, Value]]:
        """What labels are made of: as they reach the loss, and as the loaders in them draw them."""
        yield self.run, target
        below = {id(one) for one in ingredients(self.run, target, leading=_outside_loaders)}
        for part in self.parts:
            if id(part) in below:
                yield from self._drawn(part)

    def _leading(self, value: Value) -> Iterable[Value]:
        """The inputs of a value that its loss is about: of a model that computes its own, the labels."""
        if isinstance(value, Delayed) and not is_network_pass(self.run.index, value):
            return ()  # what it does with its arguments is followed
        if is_size(value) or (isinstance(value, Applied) and value.callee.startswith(EMBEDDING)):
            return ()
        if not isinstance(value, Applied) or not value.callee.endswith("()"):
            return inputs(value)
        labels = value.keywords.get("labels")
        if labels is not None:
            return (labels,)
        if SPREAD in value.keywords:
            return (self.run.part(moved(value.keywords[SPREAD]), "labels"),)
        if value.callee != "()":
            made_by = value.callee.removesuffix("()").rpartition(".")[2]
            return () if made_by in MODEL_MAKERS else inputs(value)
        spoken = words(callable_name(value.args[0]))
        is_model = is_model_call(self.run.index, value) and not LOSS_WORDS.intersection(spoken)
        return () if is_model else inputs(value)

    def _parents(self, value: Value) -> dict[int, Value]:
        """For each value the one that it was first met below."""
        found: dict[int, Value] = {}
        for parent in self.values:
            below = list(self._leading(parent))
            if isinstance(parent, Delayed) and not is_network_pass(self.run.index, parent):
                below.append(self.run.expand(parent))
            for child in below:
                found.setdefault(id(child), parent)
        return found

    def _batch_parts(self) -> list[Part]:
        parts = [value for value in self.values if isinstance(value, Part)]
        inner = {id(part.base) for part in parts}  # a part of a part is one part
        found: list[Part] = []
        for value in parts:
            if not is_size(value):
                base, keys = part_path(value)
                is_drawn = is_loader(base) and keys[:1] == ("*",)
                if (is_drawn or self._is_handed(base)) and id(value) not in inner:
                    found.append(value)
        return found

    def _is_drawn(self, value: Value) -> bool:
        """Whether a value is a part of a batch of which it is known what was put there."""
        return (
            isinstance(value, Part)
            and is_loader(part_path(value)[0])
            and any(True for _ in self._drawn(value))
        )

    def _is_handed(self, base: Value) -> bool:
        """Whether a value is the batch that a framework hands to its hook."""
        return self.source is not None and isinstance(base, Leaf) and base.name == self.source[0]

    def _drawn(self, part: Part) -> Iterator[tuple[Execution, Value]]:
        base, keys = part_path(part)
        if is_loader(base):
            yield from ((self.run, value) for value in drawn(self.run, part))
        elif self.source is not None:
            loader = self.source[1]
            loader.run.steps = max(loader.run.steps, STEPS // 4)
            yield from ((loader.run, value) for value in drawn_from(loader.run, loader.made, keys))

    def _loss_of(self, part: Value) -> Site:
        """The loss that takes a part of the batch; a difference or an unknown call where none is known."""
        made = [value for value in self.values if isinstance(value, Applied)]
        losses = [value for value in made if is_loss(value)]
        # Without a loss of known name it is the mean over everything that lets the padding in.
        means = [value for value in made if value.callee.rpartition(".")[2] in {"mean", "sum"}]
        for value in (*losses, *means, *(value for value in made if value.callee in {"-", "()"})):
            if any(one is part for one in ingredients(self.run, value, leading=self._leading)):
                return value.site
        return self.sink

    # Masks

    def _is_masked(self) -> bool:
        """Whether something on the way to the loss may take the padding out."""
        held = {id(part) for part in self.parts}
        if any(may_mask(self.run, value, held) or weighs_by_marks(value) for value in self.values):
            return True
        beside = [part for part in self.parts if not self._is_padded(part)]
        return any(picks_by(value, beside) for value in self.values if beside)

    def _is_padded(self, part: Part) -> bool:
        return any(True for run, value in self._drawn(part) for _ in paddings(run, value))

    def _is_masked_above(self, value: Value) -> bool:
        """Whether something between a value and the backward pass takes part of it out."""
        for _ in range(len(self.values)):
            above = self.above.get(id(value))
            if above is None or above is value:
                return False
            if isinstance(above, Applied):
                beside = [arg for arg in above.args if arg is not value]
                if above.callee in {"*", "[]", "/"} and any(map(self._has_mask, beside)):
                    return True
                if above.callee.rpartition(".")[2] in {"where", "masked_select", "masked_fill", "mul"}:
                    return True
            value = above
        return False

    def _is_cut(self, value: Value) -> bool:
        """Whether some of the channels are picked on the way to the loss: `target[:, :3]`."""
        for _ in range(len(self.values)):
            if isinstance(value, Applied) and value.callee == "[]":
                return True
            above = self.above.get(id(value))
            if above is None or above is value:
                return False
            value = above
        return False

    def _has_mask(self, value: Value) -> bool:
        for count, one in enumerate(ingredients(self.run, value)):
            if count > MOST_MASKS:
                return False
            if names_mask(one) or (isinstance(one, Applied) and is_comparison(one)):
                return True
        return False

    def _marked(self) -> Iterator[tuple[str, Site, Site]]:
        """Labels that are marked as void and then trained on, and masks of one side of a difference only."""
        for value in self.values:
            if not isinstance(value, Applied) or len(value.args) < 2:
                continue
            last = value.callee.removesuffix("()").rpartition(".")[2]
            if last in TOLD_LENGTHS and len(value.args) > 2:
                made = self._padded_frames(value)
                if made is not None:
                    yield TOKENS, made, value.site
            if "ross" in last and "ntropy" in last and not takes_out(value):
                replaced = replaced_mark(value.args[1])
                if replaced is not None and not self._is_masked_above(value):
                    yield VOID, replaced, value.site
            if (value.callee == "-" or last in REGRESSIONS) and not self._is_masked_above(value):
                one_sided = self._one_sided(value.args[0], value.args[1])
                if one_sided is not None:
                    yield ONE_SIDED, one_sided, value.site

    def _padded_frames(self, loss: Applied) -> Site | None:
        """Padding of the frames whose length a CTC loss is told to be that of the whole batch."""
        lengths = peeled(loss.args[2])
        if not (isinstance(lengths, Applied) and lengths.callee.rpartition(".")[2] in {"full", "full_like"}):
            return None
        for network in ingredients(self.run, loss.args[0]):
            if is_network_pass(self.run.index, network) and isinstance(network, Applied | Delayed):
                for part in batch_parts(self.run, Items(list(network.args))):
                    for value in drawn(self.run, part):
                        for kind, made in paddings(self.run, value):
                            if kind == TOKENS:
                                return made
        return None

    def _one_sided(self, left: Value, right: Value) -> Site | None:
        for masked, other in ((left, right), (right, left)):
            masked, other = peeled(masked), peeled(other)
            if not (isinstance(masked, Applied) and masked.callee == "*") or self._has_mask(other):
                continue
            for data, mask in (masked.args, masked.args[::-1]):
                is_of_batch = any(id(peeled(data)) == id(part) for part in self.parts)
                if is_of_batch and marks_valid(peeled(mask)) and comes_from_model(self.run, other):
                    return masked.site
        return None


# What a framework does for its user


def _framework_loader(one: Minimised, settings: SettingsTree) -> tuple[str, TrainingLoader] | None:
    """The name of the batch in a training_step, and the one loader that it can come from."""
    hook = one.sink.within[-1] if one.sink.within else None
    if hook is None or hook.name != "training_step" or len(hook.parameters) < 2:
        return None
    index = one.run.index
    loaders = [loader for loader in training_loaders(index, settings) if loader.loop is None]
    loaders = loaders or list(fitted_loaders(index, settings))
    return (hook.parameters[1], loaders[0]) if len(loaders) == 1 else None


def _by_trainers(index: Index, settings: SettingsTree) -> Iterator[PaddedLoss | None]:
    """Labels that the collate function of a Trainer pads: its models compute the loss from them."""
    for module in index.modules.values():
        if "data_collator" not in module.source.text or is_test(module.source):
            continue
        for node in all_nodes(module.source.tree):
            if isinstance(node, ast.Call) and bare_name(node).endswith("Trainer"):
                target = index.resolve(module, dotted(node.func) or "")
                if isinstance(target, Class) and index.method(target, "compute_loss") is not None:
                    continue  # its loss says itself what it leaves out
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                run = Execution(index, settings, STEPS // 4)
                collate = collator(run, module, given.get("data_collator"))
                if collate is not None:
                    yield _padded_labels(run, collate, Site(module.source, node))


def _padded_labels(run: Execution, collate: Value, site: Site) -> PaddedLoss | None:
    run.steps = max(run.steps, STEPS // 4)
    try:
        labels = entry(collated(run, collate), "labels")
        for kind, made in paddings(run, labels) if labels is not None else ():
            if kind == TOKENS:
                return PaddedLoss(kind, made, made, site)
    except (Exhausted, RecursionError):
        pass
    return None


def _outside_loaders(value: Value) -> Iterable[Value]:
    return () if is_loader(value) else inputs(value)
