"""Finds out who spoiled a step, and writes its black box. Only behind a step that is known to be bad."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from stethoscope.errors import UnwritableFile
from stethoscope.guard.boxes import black_box
from stethoscope.guard.checkpoints import Saved
from stethoscope.guard.culprit import culprit
from stethoscope.guard.culprit.recall import Recall
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy
from stethoscope.guard.sensing.finite import all_finite

BAD = frozenset({Kind.NON_FINITE_INPUT, Kind.NON_FINITE_LOSS, Kind.NON_FINITE_GRADIENT, Kind.SCALE_FALLING})
MOST_BOXES = 3  # of one run: the first ones tell, the others fill the disk
SAMPLES_OF = 64  # steps whose samples are remembered


class Investigation:
    """What is remembered of the last steps, in case one of them turns out to be bad."""

    def __init__(
        self,
        model: nn.Module | None,
        optimizers: Sequence[Optimizer],
        directory: str | Path | None,
        rank: int | None,
        policy: Policy,
    ) -> None:
        self._model = model
        self._optimizers = optimizers
        self._directory = None if directory is None else Path(directory)
        self._rank = rank
        self._policy = policy
        self.tell: Callable[[Happening], None] = lambda happening: None
        self._recall = Recall(model, tell=self._tell_trouble) if model is not None else None
        self._samples: deque[tuple[int, Sequence[Any]]] = deque(maxlen=SAMPLES_OF)
        self._gradients: dict[int, tuple[culprit.GradientSize, ...]] = {}
        self._boxes = 0
        self.step = 0

    def begin_step(self, step: int) -> None:
        """Take notice that the calls from here on belong to this step."""
        self.step = step
        if self._recall is not None:
            self._recall.step = step

    def batch(self, batch: Any) -> None:
        """Take notice of the batch that the next calls are made with."""
        if self._recall is not None:
            self._recall.batch = batch

    def samples(self, step: int, samples: Sequence[Any]) -> None:
        """Remember which samples a batch of this step was made of."""
        self._samples.append((step, samples))

    def inputs(self, step: int) -> float | None:
        """What `Observation` calls "input", of a step that is known to be bad; None where it is not known."""
        calls = self._recall.calls(step) if self._recall is not None else ()
        if not calls or any(call.changed for call in calls):
            return None
        given = (value for call in calls for value in (*call.args, *call.kwargs.values()))
        floats = [value for value in given if isinstance(value, Tensor) and value.is_floating_point()]
        if not floats:
            return None
        return 0.0 if bool(all_finite(floats)) else math.nan

    def bad_gradients(self, step: int) -> None:
        """Look at the gradients of a step that is known to be bad, while they are still there."""
        if self._model is not None and len(self._gradients) < MOST_BOXES:
            self._gradients[step] = culprit.bad_gradients(self._model.named_parameters())

    def of(
        self, happening: Happening, recent: Sequence[Observation], saved: Saved | None = None
    ) -> Iterator[Happening]:
        """Who is to blame for what happened, and where its black box lies.

        `saved` is the last good checkpoint: it stands in for weights that are too large for a box.
        """
        if happening.kind not in BAD or happening.severity is Severity.NOTE or self._model is None:
            return
        if self._boxes >= MOST_BOXES:
            return
        self._boxes += 1
        step = happening.step
        calls = self._recall.calls(step) if self._recall is not None else ()
        is_exact = self.step <= step + 1  # nothing has moved the weights since
        samples = next((ids for at, ids in reversed(self._samples) if at == step), None)
        call, found = None, None
        if calls:
            call, found = culprit.find_among(
                self._model, calls, _parts(recent, step), samples, same_parameters=is_exact
            )
            yield Happening(
                Kind.CULPRIT, step, Severity.WARNING, found.seen, found.means, found.try_first, found.facts()
            )
        gradients = self._gradients.pop(step, ())
        if gradients and found is None:
            named = ", ".join(f"{one.name} ({one.shown})" for one in gradients[:3])
            yield Happening(Kind.CULPRIT, step, Severity.WARNING, f"The first bad gradients: {named}.")
        if self._directory is not None:
            yield self._boxed(step, call, found, gradients, recent, samples, is_exact, saved)

    def remove(self) -> None:
        """Remember nothing more."""
        if self._recall is not None:
            self._recall.close()

    def _tell_trouble(self, trouble: str) -> None:
        means = "Who spoiled a bad step will not be found by repeating its call."
        self.tell(Happening(Kind.CALLS_FORGOTTEN, self.step, Severity.NOTE, trouble, means))

    def _boxed(
        self,
        step: int,
        call: Any,
        found: Any,
        gradients: Sequence[culprit.GradientSize],
        recent: Sequence[Observation],
        samples: Sequence[Any] | None,
        is_exact: bool,
        saved: Saved | None,
    ) -> Happening:
        at_step = next((one for one in recent if one.step == step), None)
        assert self._directory is not None
        try:
            box = black_box.write(
                self._directory,
                step,
                model=self._model,
                optimizers=self._optimizers,
                call=call,
                culprit=found,
                gradients=gradients,
                observations=tuple(recent),
                loss_scale=None if at_step is None else at_step.values.get("loss_scale"),
                samples=samples,
                checkpoint=saved.path if saved is not None and saved.path.is_file() else None,
                rank=self._rank,
                parameters_from_step=None if is_exact else self.step,
                exact=is_exact,
                most_bytes=self._policy.box_bytes,
            )
        except UnwritableFile as problem:
            return Happening(Kind.BLACK_BOX, step, Severity.WARNING, f"No black box was written: {problem}")
        return Happening(
            Kind.BLACK_BOX,
            step,
            Severity.WARNING,
            f"The step is kept in {box}.",
            try_first=f"stethoscope replay {box} --build module:function",
            facts={"path": str(box)},
        )


def _parts(recent: Sequence[Observation], step: int) -> dict[str, float]:
    seen = next((one for one in recent if one.step == step), None)
    values = {} if seen is None else seen.values
    return {name.removeprefix("loss/"): value for name, value in values.items() if name.startswith("loss/")}
