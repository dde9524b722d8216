"""What counts in a loss and should not: padding, void labels, pixels without a reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program import calls
from stethoscope.program.batches import batch_parts, collated, drawn, drawn_from, entry, is_loader
from stethoscope.program.call_arguments import SPREAD
from stethoscope.program.entries import is_test
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.filled_channels import fills_channels
from stethoscope.program.fitted_loaders import fitted_loaders
from stethoscope.program.framework_instances import SAMPLES
from stethoscope.program.given_back import MOVES
from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.ingredients import ingredients, part_path, peeled
from stethoscope.program.likenesses import words
from stethoscope.program.minimised import Minimised, minimised
from stethoscope.program.network_passes import callable_name, comes_from_model, is_model_call, is_network_pass
from stethoscope.program.own_losses import opened
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.trainer_labels import labels_as_made
from stethoscope.program.training_data import TrainingLoader, training_loaders
from stethoscope.program.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
)

TOKENS, CHANNELS, VOID, ONE_SIDED = "tokens", "channels", "void", "one-sided"
# fmt: off
MASKING_WORDS = frozenset({
    "mask", "masks", "valid", "length", "lengths", "weights", "lens", "ignore", "masked", "keep", "nonpad",
})
MARKING_WORDS = frozenset({"valid", "validity", "pad", "padding", "ignore", "void"})
LOSS_WORDS = frozenset({"loss", "losses", "criterion", "criteria", "objective", "fn", "func", "ce", "xent"})
LOSSES = frozenset({
    "cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss", "LabelSmoothingCrossEntropy", "mse_loss",
    "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "kl_div",
    "binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "binary_cross_entropy", "BCELoss",
})
# fmt: on
MODEL_MAKERS = frozenset({"from_pretrained", "from_config", "create_model", "get_peft_model"})
TOLD_LENGTHS = frozenset({"ctc_loss", "CTCLoss", "rnnt_loss", "RNNTLoss"})
REGRESSIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
COMPARING = frozenset({"eq", "ne", "gt", "lt", "ge", "le", "not_equal", "greater"})
PAD = re.compile(r"(?<![a-z])pad", re.IGNORECASE)
MARKED = re.compile(r"ignor|void|unlabel|invalid|(?<![a-z])pad|255", re.IGNORECASE)
MARKED_NAME = re.compile(r"ignor|label", re.IGNORECASE)
IGNORED = -100  # what a cross entropy ignores where it is not told otherwise
JOINING = frozenset({"cat", "concat", "concatenate"})
SETTING = frozenset({"where", "masked_fill", "masked_fill_", "[]="})
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
            objective = _Objective(one, settings)
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
        at = next((site for kind, site in _paddings(run, made) if kind == TOKENS), None)
        if at is not None:
            written = made.site if isinstance(made, Applied) else at
            found.setdefault((TOKENS, id(at.node)), PaddedLoss(TOKENS, at, written, trainer))
    return Padding(followed, tuple(found.values()))


class _Objective:
    """A minimised value with all that leads to it outside of networks."""

    def __init__(self, one: Minimised, settings: SettingsTree) -> None:
        self.run = one.run
        self.sink = one.sink.site
        self.source = _framework_loader(one, settings)
        value = opened(one.run, one.sink.value)
        self.values = list(ingredients(one.run, value, leading=self._leading))
        self.above = self._parents(value)
        self.parts = self._batch_parts()
        self.is_followed = any(True for part in self.parts for _ in self._drawn(part)) or any(
            isinstance(value, Leaf) and value.name == SAMPLES for value in self.values
        )

    def padded(self) -> Iterator[PaddedLoss]:
        """What reaches the loss and should not."""
        for kind, made, loss in self._marked():
            yield PaddedLoss(kind, made, loss, self.sink)
        for made, loss in self._padded_labels():
            yield PaddedLoss(TOKENS, made, loss, self.sink)
        if self._is_masked():
            return
        for joined in self.widened():
            yield PaddedLoss(CHANNELS, joined.site, self._loss_of(self.parts[0]), self.sink)
        for part in self.parts:
            for run, value in self._drawn(part):
                for kind, site in _paddings(run, value):
                    if kind != CHANNELS or not self._is_cut(part):
                        yield PaddedLoss(kind, site, self._loss_of(part), self.sink)

    def widened(self) -> Iterator[Applied]:
        """Data that is widened by channels of zeros on its way into the loss, as many as it lacks."""
        for one in self.values if self.parts else ():
            if isinstance(one, Applied) and _lacks_channels(one) and not self._is_cut(one):
                yield one

    def _padded_labels(self) -> Iterator[tuple[Site, Site]]:
        """Pads among the labels of a cross entropy that are none of those it is told to ignore."""
        is_masked = self._is_masked()
        for loss in self.values:
            if not (isinstance(loss, Applied) and _is_of_classes(loss)):
                continue
            ignored = _option(loss, "ignore_index")
            # What is one number already has its pads in it, whatever it is multiplied with.
            if (ignored is None and is_masked) or _option(loss, "weight") is not None or _is_left_open(loss):
                continue
            target = loss.args[1] if len(loss.args) > 1 else loss.keywords.get("target")
            for run, value in self._made_of(target) if target is not None else ():
                for made in _pads(run, value):
                    if not _is_ignored(_filler(made), ignored):
                        yield made.site, loss.site

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
        if _is_size(value):
            return ()
        if not isinstance(value, Applied) or not value.callee.endswith("()"):
            return inputs(value)
        labels = value.keywords.get("labels")
        if labels is not None:
            return (labels,)
        if SPREAD in value.keywords:
            return (self.run.part(_before_moves(value.keywords[SPREAD]), "labels"),)
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
            if not _is_size(value):
                base, keys = part_path(value)
                is_drawn = is_loader(base) and keys[:1] == ("*",)
                if (is_drawn or self._is_handed(base)) and id(value) not in inner:
                    found.append(value)
        return found

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

    def _loss_of(self, part: Part) -> Site:
        """The loss that takes a part of the batch; a difference or an unknown call where none is known."""
        made = [value for value in self.values if isinstance(value, Applied)]
        losses = [value for value in made if _is_loss(value)]
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
        if any(_may_mask(self.run, value, held) for value in self.values):
            return True
        beside = [part for part in self.parts if not self._is_padded(part)]
        return any(_picks_by(value, beside) for value in self.values if beside)

    def _is_padded(self, part: Part) -> bool:
        return any(True for run, value in self._drawn(part) for _ in _paddings(run, value))

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
            if _names_mask(one) or (isinstance(one, Applied) and _is_comparison(one)):
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
            if "ross" in last and "ntropy" in last and not _takes_out(value):
                replaced = _replaced_mark(value.args[1])
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
                        for kind, made in _paddings(self.run, value):
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
                if is_of_batch and _marks(peeled(mask)) and comes_from_model(self.run, other):
                    return masked.site
        return None


def _before_moves(batch: Value) -> Value:
    """A batch before it was moved: `batch.to(device)` has the same entries."""
    while isinstance(batch, Applied) and batch.callee in MOVES and batch.args:
        batch = batch.args[0]
    return batch


def _is_size(value: Value) -> bool:
    """`len(batch)`, `ids.size(0)`, `ids.shape`: a number about data that holds none of it."""
    match value:
        case Applied(callee="len" | ".size" | ".numel" | ".dim"):
            return True
        case Part(key="shape" | "ndim" | "dtype" | "device"):
            return True
    return False


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
        for node in ast.walk(module.source.tree):
            if isinstance(node, ast.Call) and calls.bare_name(node).endswith("Trainer"):
                target = index.resolve(module, dotted(node.func) or "")
                if isinstance(target, Class) and index.method(target, "compute_loss") is not None:
                    continue  # its loss says itself what it leaves out
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                run = Execution(index, settings, STEPS // 4)
                collate = _collator(run, module, given.get("data_collator"))
                if collate is not None:
                    yield _padded_labels(run, collate, Site(module.source, node))


def _collator(run: Execution, module: Module, node: ast.expr | None) -> Value | None:
    """The function or object of the repository that a Trainer is given to make its batches."""
    name = dotted(node) if node is not None else None
    target = run.index.resolve(module, name) if name else None
    if isinstance(target, Function):
        return FunctionValue(target)
    made = node if isinstance(node, ast.Call) else _assigned(module, name) if name else None
    cls = run.index.resolve(module, dotted(made.func) or "") if made is not None else None
    return run.make(cls) if isinstance(cls, Class) else None


def _assigned(module: Module, name: str) -> ast.Call | None:
    """The one call that a name is assigned anywhere in a module."""
    found = [
        node.value
        for node in ast.walk(module.source.tree)
        if isinstance(node, ast.Assign) and any(dotted(target) == name for target in node.targets)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Call) else None


def _padded_labels(run: Execution, collate: Value, site: Site) -> PaddedLoss | None:
    run.steps = max(run.steps, STEPS // 4)
    try:
        labels = entry(collated(run, collate), "labels")
        for kind, made in _paddings(run, labels) if labels is not None else ():
            if kind == TOKENS:
                return PaddedLoss(kind, made, made, site)
    except (Exhausted, RecursionError):
        pass
    return None


# Padding


def _paddings(run: Execution, value: Value) -> Iterator[tuple[str, Site]]:
    for one in ingredients(run, value, leading=_unless_taken_out):
        if isinstance(one, Applied):
            is_plane = one.callee.rpartition(".")[2] == "pad" and _pads_first_axis(one)
            if not is_plane and _pads_tokens(one):
                yield TOKENS, one.site
            elif _pads_channels(one):
                yield CHANNELS, one.site


def _pads(run: Execution, value: Value) -> Iterator[Applied]:
    """The calls that put pads into labels."""
    for one in ingredients(run, value, leading=_unless_taken_out):
        if isinstance(one, Applied) and (_pads_tokens(one) or _sets_pads(one)):
            yield one


def _sets_pads(value: Applied) -> bool:
    """`torch.where(seen, labels, PAD)`, `labels.masked_fill(hidden, pad_id)`, `labels[hidden] = PAD`."""
    fill = _filler(value) if value.callee.rpartition(".")[2] in SETTING else None
    node = value.site.node
    given = node.args if isinstance(node, ast.Call) else [getattr(node, "value", None)]
    named = any(isinstance(one, ast.Name | ast.Attribute) and PAD.search(ast.unparse(one)) for one in given)
    is_number = (
        isinstance(fill, Constant) and isinstance(fill.value, int) and not isinstance(fill.value, bool)
    )
    return named and (is_number or isinstance(fill, Leaf | Part)) and not (fill and _is_below_zero(fill))


def _filler(value: Applied) -> Value | None:
    """What a call fills its pads with."""
    last, args = value.callee.rpartition(".")[2], value.args
    match last:
        case "pad_sequence":
            return value.keywords.get("padding_value", args[2] if len(args) > 2 else Constant(0))
        case "full" | "full_like" | "new_full" | "masked_fill" | "masked_fill_":
            named = value.keywords.get("fill_value", value.keywords.get("value"))
            place = {"full": 1, "full_like": 1}.get(last, 2)
            return named if named is not None else args[place] if len(args) > place else None
        case "fill_" if len(args) > 1:
            return args[1]
        case "pad":
            return value.keywords.get("value", value.keywords.get("constant_values", Constant(0)))
        case "cat" | "concat" | "concatenate":
            return Constant(0)
        case "where" if len(args) > 2:
            plain = [arg for arg in args[1:] if isinstance(arg, Constant | Leaf)]
            return plain[0] if plain else None
        case "[]=" if len(args) > 2:
            return Constant(0) if _fills_rows(value) else args[2]
        case "*":
            lists = [arg for arg in args if isinstance(arg, Items) and len(arg.items) == 1]
            return lists[0].items[0] if lists else None
    return None


def _is_ignored(fill: Value | None, ignored: Value | None) -> bool:
    """Whether pads of this number are left out by `ignore_index`, or may be."""
    ignored = Constant(IGNORED) if ignored is None else ignored
    if fill is ignored or fill is None:
        return True
    if isinstance(fill, Constant) and isinstance(ignored, Constant):
        return fill.value == ignored.value
    name = fill.name if isinstance(fill, Leaf) else fill.key if isinstance(fill, Part) else ""
    # The id of a pad that is not known is a place in the vocabulary, which is never below zero.
    is_id = isinstance(name, str) and bool(PAD.search(name)) and not MARKED_NAME.search(name)
    return not (is_id and _is_below_zero(ignored))


def _outside_loaders(value: Value) -> Iterable[Value]:
    return () if is_loader(value) else inputs(value)


def _unless_taken_out(value: Value) -> Iterable[Value]:
    """`labels[ids == PAD] = -100` and the like take the pads below them out of the loss.

    What is only asked, as in `where(ids != PAD, ...)`, puts no pads into a value.
    """
    if is_loader(value) or (isinstance(value, Choice) and any(map(_is_below_zero, value.options))):
        return ()
    if isinstance(value, Applied):
        if _is_comparison(value):
            return ()
        last = value.callee.rpartition(".")[2]
        fills = {"[]=": value.args[2:], "where": value.args[1:]}.get(last, ())
        if last in {"masked_fill", "masked_fill_"}:
            fills = value.args[2:] or tuple(value.keywords.values())
        if any(_is_below_zero(fill) for fill in fills):
            return ()
        if last == "where" and len(value.args) > 2:
            return value.args[1:]
        if last in {"masked_fill", "masked_fill_"}:
            return value.args[:1]
        if last == "masked_select" or (value.callee == "[]" and _picks(value.args[1])):
            return ()
    return inputs(value)


def _picks(key: Value) -> bool:
    """Whether a key picks some values by a mask: `labels[labels != PAD]`, `labels[keep]`."""
    key = peeled(key)
    if isinstance(key, Items | Constant) or (isinstance(key, Applied) and key.callee == "slice"):
        return False
    is_asked = isinstance(key, Applied) and (_is_comparison(key) or key.callee in {"~", "&", "|", "invert"})
    return is_asked or _names_mask(key)


def _is_below_zero(value: Value) -> bool:
    known = value.value if isinstance(value, Constant) else 0
    return isinstance(known, int) and known < 0


def _pads_tokens(value: Applied) -> bool:
    """`pad_sequence(...)`, `full(size, PAD)`, `pad(..., value=pad_id)`, `[pad] * n`, a padding tokenizer."""
    last = value.callee.rpartition(".")[2]
    if last == "pad_sequence":
        filler = value.keywords.get("padding_value", value.args[2] if len(value.args) > 2 else Constant(0))
        return not _is_below_zero(filler)
    named = bool(PAD.search(value.site.text.partition("(")[2] or value.site.text))
    if last in {"full", "full_like", "new_full", "fill_"}:
        return named
    if last in {"pad", *JOINING} and _fills_gap(value):
        return True
    if last == "pad" and value.callee != ".pad":
        return "value" in value.keywords and bool(PAD.search(value.site.text.rpartition("value")[2]))
    if value.callee == "[]=":
        return _fills_rows(value)
    padding = value.keywords.get("padding")
    if isinstance(padding, Constant) and (
        padding.value is True or padding.value in {"max_length", "longest"}
    ):
        return bool(value.keywords.keys() & {"truncation", "max_length", "return_tensors"})
    return value.callee == "*" and _repeats_pad(value)


def _repeats_pad(value: Applied) -> bool:
    """`[pad_id] * missing`: a list that speaks of padding, of numbers that a loss does not leave out."""
    node = value.site.node
    if not isinstance(node, ast.BinOp) or not any(isinstance(arg, Items) for arg in value.args):
        return False
    held = [item for arg in value.args if isinstance(arg, Items) for item in arg.items]
    if _is_gap(value) and held and all(isinstance(item, Constant) for item in held):
        return not any(map(_is_below_zero, held))
    lists = [side for side in (node.left, node.right) if isinstance(side, ast.List | ast.Tuple)]
    return not any(map(_is_below_zero, held)) and any(PAD.search(ast.unparse(one)) for one in lists)


def _is_gap(value: Applied) -> bool:
    """`[filler] * (longest - len(row))`: as often as a row is short of the longest."""
    counts = [arg for arg in value.args if isinstance(arg, Applied) and arg.callee == "-"]
    lengths = [count.args[1] for count in counts if len(count.args) == 2]
    return any(isinstance(length, Applied) and length.callee == "len" for length in lengths)


def _fills_rows(value: Applied) -> bool:
    """`ids[i, :len(row)] = row` in a tensor of zeros: integers, or a row up to its own length."""
    base, key = value.args[0], value.args[1]
    while isinstance(base, Applied) and base.callee == "[]=":
        base = base.args[0]
    if not (isinstance(base, Applied) and base.callee.rpartition(".")[2] in {"zeros", "new_zeros"}):
        return False
    is_whole = re.search(r"\blong\b|\bint(?:32|64)?\b", base.site.text) is not None
    bounds = [one for one in (key.items if isinstance(key, Items) else [key]) if isinstance(one, Applied)]
    slices = [one.args for one in bounds if one.callee == "slice"]
    begins = all(_is_nothing(start) or _is_zero(start) for start, *_ in slices)
    # A region of a picture that gets the number of its class is no row.
    is_row = begins and len(slices) == 1 and not isinstance(value.args[2], Constant)
    if not is_row or isinstance(slices[0][1], Constant):
        return False
    is_own_length = _is_length_of(slices[0][1], value.args[2]) and not _fills_channels(value)
    return is_whole or is_own_length


def _fills_gap(value: Applied) -> bool:
    """`pad(row, (0, longest - len(row)))`, `cat([row, zeros(longest - len(row))])`: not with marks."""
    first = value.args[0] if value.args else None
    if value.callee.rpartition(".")[2] in JOINING:
        joined = first.items if isinstance(first, Items) else []
        zeros = [one for one in joined if isinstance(one, Applied) and _is_zeros(one)]
        sizes = [size for one in zeros for arg in one.args for size in _flat(arg)]
        rows = [one for one in joined if not any(one is other for other in zeros)]
    else:
        fill = value.keywords.get("value", value.keywords.get("constant_values"))
        if fill is not None and not _is_zero(fill):
            return False
        sizes = list(_flat(value.args[1])) if len(value.args) > 1 else []
        rows = [first] if first is not None else []
    gaps = [size.args[1] for size in sizes if isinstance(size, Applied) and size.callee == "-"]
    return any(_is_length_of(gap, row) for gap in gaps for row in rows)


def _flat(value: Value) -> Iterator[Value]:
    if isinstance(value, Items):
        for item in value.items:
            yield from _flat(item)
    else:
        yield value


def _is_length_of(end: Value, row: Value) -> bool:
    """`len(row)`, `row.shape[0]`, `row.size(0)`."""
    match end:
        case Applied(callee="len" | ".size", args=[of, *_]):
            return peeled(of) is peeled(row)
        case Part(base=Part(base=of, key="shape"), key=0):
            return peeled(of) is peeled(row)
    return False


def _pads_channels(value: Applied) -> bool:
    """`cat([image, zeros], dim=0)`, `pad(image, (0, 0, 0, 0, 0, 3))`: channels that hold nothing."""
    last = value.callee.rpartition(".")[2]
    if last == "pad":
        return _pads_first_axis(value)
    if value.callee == "[]=":
        return _fills_channels(value)
    if last not in JOINING or not value.args:
        return False
    joined = value.args[0].items if isinstance(value.args[0], Items) else []
    dim = value.keywords.get(
        "dim", value.keywords.get("axis", value.args[1] if len(value.args) > 1 else None)
    )
    along = dim.value if isinstance(dim, Constant) else 0 if dim is None else None
    zeros = [one for one in joined if _is_zeros(peeled(one))]
    return along in {0, 1, -3} and bool(zeros) and len(zeros) < len(joined)


def _lacks_channels(value: Applied) -> bool:
    """`cat([x, zeros(n, wanted - c, h, w)], dim=1)`."""
    if value.callee.rpartition(".")[2] not in JOINING or not _pads_channels(value):
        return False
    joined = value.args[0].items if isinstance(value.args[0], Items) else []
    zeros = [one for one in map(peeled, joined) if isinstance(one, Applied) and _is_zeros(one)]
    for one in zeros:
        given = one.args[1:] if one.callee == ".new_zeros" else one.args
        sizes = [size for arg in given for size in _flat(arg)]
        if len(sizes) > 2 and any(isinstance(size, Applied) and size.callee == "-" for size in sizes[:2]):
            return True
    return False


def _fills_channels(value: Applied) -> bool:
    """`image[:channels] = grey` in a picture of zeros; a number that is written there marks what is real."""
    base, key, filling = value.args[0], value.args[1], value.args[2]
    if not (isinstance(base, Applied) and base.callee.rpartition(".")[2] in {"zeros", "new_zeros"}):
        return False
    if isinstance(filling, Constant):
        return False
    made, written = base.site.node, _subscript(value.site.node)
    if isinstance(made, ast.Call) and written is not None and fills_channels(made, written):
        return True
    sizes = base.args[0].items if len(base.args) == 1 and isinstance(base.args[0], Items) else base.args
    is_part = isinstance(key, Applied) and key.callee == "slice" and not _is_nothing(key.args[1])
    return len(sizes) == 3 and is_part


def _subscript(node: ast.AST) -> ast.Subscript | None:
    """What a statement writes to, where that is one part of an array."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        node = node.targets[0]
    return node if isinstance(node, ast.Subscript) else None


def _is_nothing(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


def _pads_first_axis(value: Applied) -> bool:
    """Whether a pad leaves height and width alone and fills the axis before them with zeros."""
    mode = value.keywords.get("mode", value.args[2] if len(value.args) > 2 else None)
    if mode is not None and not (isinstance(mode, Constant) and mode.value == "constant"):
        return False
    given = value.keywords.get("pad", value.keywords.get("pad_width"))
    widths = given if given is not None else value.args[1] if len(value.args) > 1 else None
    if not isinstance(widths, Items) or "value" in value.keywords:
        return False
    if (
        all(isinstance(pair, Items) for pair in widths.items) and len(widths.items) == 3
    ):  # numpy, first axis first
        empty = [_is_empty(pair) for pair in widths.items]
        return empty in ([False, True, True], [True, True, False])
    return (
        len(widths.items) == 6
        and all(map(_is_zero, widths.items[:4]))
        and not _is_empty(Items(widths.items[4:]))
    )


def _is_empty(pair: Value) -> bool:
    return isinstance(pair, Items) and all(map(_is_zero, pair.items))


def _is_zero(value: Value) -> bool:
    return isinstance(value, Constant) and value.value == 0


def _is_zeros(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {
        "zeros",
        "zeros_like",
        "new_zeros",
    }


# Losses and masks


def _is_loss(value: Applied) -> bool:
    if value.callee.endswith("()") and (SPREAD in value.keywords or "labels" in value.keywords):
        return True
    return value.callee.removesuffix("()").rpartition(".")[2] in LOSSES


def _options(value: Applied) -> set[str]:
    return {*value.keywords, *(value.maker.keywords if value.maker is not None else ())}


def _option(loss: Applied, name: str) -> Value | None:
    """An option of a loss, given to the call or to its maker."""
    found = loss.keywords.get(name)
    return found if found is not None or loss.maker is None else loss.maker.keywords.get(name)


def _is_of_classes(loss: Applied) -> bool:
    """Whether a loss takes labels of classes, of which one can be ignored."""
    last = loss.callee.removesuffix("()").rpartition(".")[2]
    is_call = loss.callee.endswith("()") or not last[:1].isupper()
    return is_call and last in {"cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"}


def _is_left_open(loss: Applied) -> bool:
    """Whether each label keeps a loss of its own, so that pads may be taken out of it later."""
    reduction = _option(loss, "reduction")
    return reduction is not None and not (isinstance(reduction, Constant) and reduction.value != "none")


def _takes_out(loss: Applied) -> bool:
    return bool(_options(loss) & {"ignore_index", "mask", "weight"})


def _picks_by(value: Value, parts: list[Part]) -> bool:
    """`loss * part`, `loss[part]`: a part of the batch that has no pads in it says what counts."""
    if not isinstance(value, Applied) or len(value.args) < 2:
        return False
    is_weighing = value.callee in {"*", "[]", "/"} or value.callee.rpartition(".")[2] in {"where", "mul"}
    return is_weighing and any(_without_signs(arg) is part for arg in value.args for part in parts)


def _without_signs(value: Value) -> Value:
    value = peeled(value)
    while isinstance(value, Applied) and value.callee in {"~", "invert", ".bool"} and value.args:
        value = peeled(value.args[0])
    return value


def _may_mask(run: Execution, value: Value, parts: set[int]) -> bool:
    match value:
        case Applied(args=args) if _is_comparison(value):
            return any(id(peeled(arg)) in parts for arg in args)
        case Applied(callee=callee):
            is_told = callee.removesuffix("()").rpartition(".")[2] in TOLD_LENGTHS
            return is_told or bool(_options(value) & {"ignore_index", "mask", "reduction_mask", "weight"})
        case Delayed(keywords=keywords) if not is_network_pass(run.index, value):
            return any(MASKING_WORDS.intersection(words(key)) for key in keywords)
    return _names_mask(value)


def _is_comparison(value: Applied) -> bool:
    return value.callee in COMPARISONS or value.callee.rpartition(".")[2] in COMPARING


def _names_mask(value: Value) -> bool:
    match value:
        case Leaf(name=name):
            return bool(MASKING_WORDS.intersection(words(name)))
        case Part(key=str() as key):
            return bool(MASKING_WORDS.intersection(words(key))) and not isinstance(value.base, Instance)
    return False


def _marks(value: Value) -> bool:
    """Whether a value says which readings are valid."""
    match value:
        case Leaf(name=name) | Part(key=str() as name):
            return bool(MARKING_WORDS.intersection(words(name)))
        case Applied():
            return _is_comparison(value)
    return False


def _replaced_mark(target: Value) -> Site | None:
    """Where labels that are marked to be ignored become labels of the first class."""
    target = peeled(target)
    if not isinstance(target, Applied):
        return None
    last = target.callee.rpartition(".")[2]
    match last, target.args:
        case "[]=" | "masked_fill" | "masked_fill_", [_, condition, fill]:
            pass
        case "where", [condition, one, other]:
            fill = one if isinstance(one, Constant) or _is_zeros(one) else other
        case "clamp" | "clamp_" | "clamp_min" | "clamp_min_" | "clip" | "relu" | "maximum", _:
            return target.site if _is_lifted(target, last) else None
        case _:
            return None
    is_mark = isinstance(condition, Applied) and condition.callee in {"==", "!=", "<"}
    if not (is_mark and (_is_zero(fill) or _is_zeros(fill))) or not isinstance(condition, Applied):
        return None
    marks = [arg for arg in condition.args if isinstance(arg, Constant)]
    if MARKED.search(condition.site.text) or any(_is_below_zero(mark) for mark in marks):
        return target.site
    return None


def _is_lifted(labels: Applied, how: str) -> bool:
    """Whether labels below zero, which are marks and no classes, become the first class."""
    lowest = labels.keywords.get("min", labels.args[1] if len(labels.args) > 1 else None)
    return how == "relu" or (lowest is not None and _is_zero(lowest))
