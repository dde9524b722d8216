"""How a training hangs together: whether the optimizer holds the model, and whether gradients are cleared.

Both are read off the objects and never off values, so that nothing waits for a device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from stethoscope.guard.happening import Happening, Kind, Severity

MOST_NAMED = 5  # parameters in a message
STEPS_IN_A_ROW = 8  # without any clearing; one or two may be meant
# These train copies of the parameters, which are not the model's own by design.
KEEPERS_OF_COPIES = frozenset({"apex", "bmtrain", "colossalai", "deepspeed", "fairscale", "megatron"})
HALVES = (torch.float16, torch.bfloat16)


def left_out(
    model: nn.Module | Iterable[nn.Module], optimizers: Sequence[Optimizer], step: int = 0
) -> Happening | None:
    """Tell of trainable parameters that no optimizer holds: they stay as they are, whatever the loss does.

    It looks at the present state, so it can be asked again when layers were unfrozen or added.
    """
    own = _own_parameters([model] if isinstance(model, nn.Module) else model)
    held = {id(one): one for optimizer in optimizers for one in _parameters(optimizer)}
    trainable = {key: pair for key, pair in own.items() if pair[1].requires_grad}
    missing = [pair for key, pair in trainable.items() if key not in held]
    foreign = [one for key, one in held.items() if key not in own]
    if not missing or not held or _trains_copies(optimizers, missing, foreign):
        return None
    if len(missing) == len(trainable):
        return _nothing_shared(step, missing, foreign)
    return _some_left_out(step, missing, len(trainable), foreign)


class ClearedGradients:
    """Watches whether gradients are cleared between two steps of an optimizer, by its smallest parameter.

    Behind a step it remembers the gradient. One that was set to None is another tensor at the next step, and
    nothing more is asked. Where it is the same one, each backward pass is listened to, which adds to it once:
    if it was written to just once more, then nobody cleared it. `happening` tells when no step of many in a
    row was preceded by a clearing, and then the watch is over.
    """

    def __init__(self, optimizer: Optimizer, steps_in_a_row: int = STEPS_IN_A_ROW) -> None:
        self.failure: Exception | None = None
        self._in_a_row = 0
        self._most = steps_in_a_row
        self._grad: Tensor | None = None  # as the last step left it
        self._version = 0
        self._was_cleared = False
        self._was_added_to = False
        smallest: Any = _smallest(optimizer)  # its hooks have no types
        self._parameter = smallest
        self._handles: list[Any] = []
        self.is_suspicious = False  # whether each step must be looked at

    def stepped(self) -> None:
        """Take notice of a step of the optimizer; called before anybody can clear the gradients behind it."""
        if self._parameter is None:
            return
        grad = self._parameter.grad
        if not self._handles:
            if grad is None or grad is not self._grad:
                self._grad = grad
                return
            self._handles.append(self._parameter.register_post_accumulate_grad_hook(self._added))
            self.is_suspicious = True
        if self._was_cleared:
            self._in_a_row = 0
        elif self._was_added_to:
            self._in_a_row += 1
            if self._in_a_row == self._most:
                self._handles.append(self._parameter.register_hook(self._look_closer))
        self._was_cleared = self._was_added_to = False
        try:
            self._remember(grad)
        except Exception as problem:  # what was made in inference mode counts no writes
            self._give_up(problem)

    def happening(self, step: int) -> Happening | None:
        """What is to be told, once."""
        # One step more than asked for: before it, the gradient itself was looked at.
        if self._in_a_row <= self._most:
            return None
        steps, self._in_a_row = self._in_a_row, 0
        self.remove()
        return Happening(
            Kind.GRADIENTS_NOT_CLEARED,
            step,
            Severity.WARNING,
            f"The gradients were not cleared before any of the last {steps} steps.",
            "Each step then uses the sum of all gradients since the beginning, which grows without end.",
            "call optimizer.zero_grad() once per step, behind optimizer.step() or before the backward pass.",
            facts={"steps": steps},
            onset=max(0, step - steps),
        )

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._parameter = self._grad = None

    def _added(self, parameter: Tensor) -> None:
        """Behind each backward pass that reached the parameter; nothing may go wrong in there."""
        try:
            self._was_added_to = True
            grad = self._grad
            if grad is not None and parameter.grad is grad and grad._version == self._version + 1:
                self._version += 1
            else:
                self._was_cleared = True
        except Exception as problem:
            self._give_up(problem)

    def _remember(self, grad: Tensor | None) -> None:
        # Sparse gradients are put together in ways that the count of writes does not tell.
        self._grad = grad if grad is not None and grad.layout is torch.strided else None
        self._version = self._grad._version if self._grad is not None else 0

    def _look_closer(self, incoming: Tensor) -> None:
        """Look, before something is added, for zeros: writes by way of `.data` are not counted.

        This waits for the device, once or twice in a training, and only where something seems wrong.
        """
        try:
            if self._grad is not None and not bool(self._grad.any()):
                self.remove()
                self._in_a_row = 0
        except Exception as problem:
            self._give_up(problem)

    def _give_up(self, problem: Exception) -> None:
        self.failure = problem
        self._in_a_row = 0
        self.remove()


def _own_parameters(models: Iterable[nn.Module]) -> dict[int, tuple[str, Tensor]]:
    """Each parameter once, by its first name: tied ones have several."""
    own: dict[int, tuple[str, Tensor]] = {}
    for model in models:
        for name, parameter in model.named_parameters():
            own.setdefault(id(parameter), (name.replace("_orig_mod.", ""), parameter))
    return own


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def _trains_copies(
    optimizers: Sequence[Optimizer], missing: Sequence[tuple[str, Tensor]], foreign: Sequence[Tensor]
) -> bool:
    """Whether the optimizer works on copies in full precision, as tools for mixed precision do."""
    if any(type(one).__module__.split(".")[0] in KEEPERS_OF_COPIES for one in optimizers):
        return True
    in_half = all(one.dtype in HALVES for _, one in missing)
    return in_half and bool(foreign) and all(one.dtype is torch.float32 for one in foreign)


def _nothing_shared(step: int, missing: Sequence[tuple[str, Tensor]], foreign: Sequence[Tensor]) -> Happening:
    look_alike = sorted(tuple(one.shape) for _, one in missing) == sorted(tuple(one.shape) for one in foreign)
    seen = (
        f"None of the model's {len(missing)} trainable parameters is held by an optimizer, "
        f"which holds {len(foreign)} others"
    )
    return Happening(
        Kind.PARAMETERS_LEFT_OUT,
        step,
        Severity.CRITICAL,
        f"{seen} of the same shapes." if look_alike else f"{seen}.",
        "The model will not learn: its weights stay as they are, whatever the loss does."
        + (" The optimizer seems to train another copy of the model." if look_alike else ""),
        "make the optimizer from the parameters of the model that is trained, after that model was made, "
        "wrapped or copied for the last time.",
        facts=_facts(missing, len(missing), foreign),
    )


def _some_left_out(
    step: int, missing: Sequence[tuple[str, Tensor]], trainable: int, foreign: Sequence[Tensor]
) -> Happening:
    names = ", ".join(name for name, _ in missing[:MOST_NAMED])
    more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    return Happening(
        Kind.PARAMETERS_LEFT_OUT,
        step,
        Severity.WARNING,
        f"{len(missing)} of the model's {trainable} trainable parameters are held by no optimizer: "
        f"{names}{more}.",
        "They stay as they are, whatever the loss does.",
        "give them to an optimizer, or set requires_grad to False where that is meant; Guard has to be given "
        "all optimizers.",
        facts=_facts(missing, trainable, foreign),
    )


def _facts(
    missing: Sequence[tuple[str, Tensor]], trainable: int, foreign: Sequence[Tensor]
) -> dict[str, object]:
    return {
        "left_out": len(missing),
        "trainable": trainable,
        "values_left_out": sum(one.numel() for _, one in missing if not nn.parameter.is_lazy(one)),
        "foreign": len(foreign),
        "names": [name for name, _ in missing[:MOST_NAMED]],
    }


def _smallest(optimizer: Optimizer) -> Tensor | None:
    """The parameter that is cheapest to watch."""
    leaves = [
        one
        for one in _parameters(optimizer)
        if one.requires_grad and one.is_leaf and not one.is_meta and not nn.parameter.is_lazy(one)
    ]
    return min((one for one in leaves if one.numel()), key=Tensor.numel, default=None)
