"""Makes training harder step by step, in optimizer steps, with a difficulty that is logged and can be held.

## What it does
A curriculum is a function from the number of optimizer steps to a difficulty between `start` and `end`. Five
shapes, over `steps` optimizer steps:

    linear               as fast at the end as at the start
    cosine               slow, fast, slow
    slow-exponential     slow first, then faster and faster; at half time 18 % of the way
    fast-exponential     1 - exp(-3 p): at half time 78 %, at the end 95 %, and never quite there
    constant             `end` from the first step

`step()` is called once per optimizer step. `difficulty` is what the data or the noise takes, `at(step)` is
the same for any step, and `log()` gives the numbers to write down. `with curriculum.fixed():` holds the
difficulty, at `end` unless told otherwise, while the model is evaluated: losses of two evaluations can then
be compared.

## The failure it prevents
The protein system scaled its noise with such a function and logged the loss. The loss rose from 0.26 to 2.33
in 5000 steps, and the write-up blamed a curriculum "faster than the model could adapt". It was the difficulty
alone: a model that knows nothing has a loss of 0.23 at the first of these steps and 1.90 at the last. The
difficulty had not been logged, so nobody could divide by it. Three faults made it worse:
- validation used the curriculum's current step, and the "best" checkpoint, by training loss, was the first;
- the shape called "exponential, starts slow" was the fast one;
- the curriculum counted batches and the learning rate counted optimizer steps, four batches each. Its mended
  form wanted 20,000 steps in a run that had 3,700 updates. With `run_steps` that is a warning at the start.

## When not to use it
In a small copy of that system runs with and without a curriculum ended alike (0.63 to 0.64): it is a thing
to try, not a cure. Do not use it to make a loss look calm; a lower maximal difficulty lowers the loss
and worsens the model. Do not evaluate without `fixed()`.

## Example

    from stethoscope.blocks import Curriculum

    curriculum = Curriculum("slow-exponential", steps=1000, start=0.1, run_steps=5000)
    for _ in range(500):
        sigma = 0.8 * curriculum.difficulty
        curriculum.step()
    print(curriculum.log())
    with curriculum.fixed():
        print("evaluated at", curriculum.difficulty)

## References
- Bengio et al., Curriculum Learning, 2009
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, get_args

Shape: TypeAlias = Literal["linear", "cosine", "slow-exponential", "fast-exponential", "constant"]

SHARPNESS = 3.0  # of both exponentials; the fast one is then at 95 % after `steps`


def linear_progress(part: float) -> float:
    """As far as the time: half way at half time."""
    return min(max(part, 0.0), 1.0)


def cosine_progress(part: float) -> float:
    """Half a wave of a cosine: slow, fast, slow."""
    return (1.0 - math.cos(math.pi * linear_progress(part))) / 2.0


def slow_exponential_progress(part: float, sharpness: float = SHARPNESS) -> float:
    """Faster and faster; exactly 1 at the end."""
    return math.expm1(sharpness * linear_progress(part)) / math.expm1(sharpness)


def fast_exponential_progress(part: float, sharpness: float = SHARPNESS) -> float:
    """Slower and slower; 1 - exp(-sharpness) at the end, and on towards 1 beyond it."""
    return -math.expm1(-sharpness * max(part, 0.0))


def difficulty_at(step: int, *, shape: Shape, steps: int, start: float = 0.0, end: float = 1.0) -> float:
    """The difficulty after so many optimizer steps of a curriculum that takes `steps`."""
    if shape == "constant":
        return end
    progress = _PROGRESS[shape](step / steps)
    return start * (1.0 - progress) + end * progress


class Curriculum:
    """A difficulty that rises with the optimizer steps taken.

    `run_steps` is the length of the whole run, to say so where the curriculum would outlast it.
    """

    def __init__(
        self,
        shape: Shape = "linear",
        *,
        steps: int,
        start: float = 0.0,
        end: float = 1.0,
        run_steps: int | None = None,
    ) -> None:
        if shape not in get_args(Shape):
            raise ValueError(f"shape is {shape!r}; give one of {', '.join(get_args(Shape))}")
        if steps < 1:
            raise ValueError(f"steps is {steps}; a curriculum takes at least one optimizer step")
        self.shape, self.steps, self.start, self.end = shape, steps, start, end
        self.steps_taken = 0
        self._held: float | None = None
        if run_steps is not None and shape != "constant" and steps > run_steps:
            warnings.warn(
                f"the curriculum takes {steps} optimizer steps and the run {run_steps}: it ends at a "
                f"difficulty of {self.at(run_steps):.3g}, not {end:g}. Are its steps counted in batches?",
                stacklevel=2,
            )

    @property
    def difficulty(self) -> float:
        """The difficulty of the step that comes next, or the one that is held."""
        return self.at(self.steps_taken) if self._held is None else self._held

    def at(self, step: int) -> float:
        """The difficulty after so many optimizer steps."""
        return difficulty_at(step, shape=self.shape, steps=self.steps, start=self.start, end=self.end)

    def step(self) -> None:
        """Count one optimizer step."""
        if self._held is not None:
            raise RuntimeError("step() inside fixed(): an evaluation takes no optimizer steps")
        self.steps_taken += 1

    @contextmanager
    def fixed(self, difficulty: float | None = None) -> Iterator[float]:
        """Hold the difficulty for the length of a `with`: at the end of the curriculum, or as given."""
        before = self._held
        self._held = self.end if difficulty is None else difficulty
        try:
            yield self._held
        finally:
            self._held = before

    def log(self) -> dict[str, float]:
        """What to write into the log beside the loss."""
        return {"curriculum/difficulty": self.difficulty, "curriculum/step": self.steps_taken}

    def state_dict(self) -> dict[str, Any]:
        """The steps taken, and what the difficulty was made of."""
        return {"steps_taken": self.steps_taken, **self._form()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; says so where the difficulty makes a jump, as another form was saved."""
        self.steps_taken = int(state["steps_taken"])
        changed = {key: state[key] for key, value in self._form().items() if state[key] != value}
        if changed:
            was = difficulty_at(self.steps_taken, **{key: state[key] for key in self._form()})
            warnings.warn(
                f"the curriculum was saved with {changed}: after {self.steps_taken} steps the difficulty "
                f"goes from {was:.3g} to {self.at(self.steps_taken):.3g}",
                stacklevel=2,
            )

    def _form(self) -> dict[str, Any]:
        return {"shape": self.shape, "steps": self.steps, "start": self.start, "end": self.end}


_PROGRESS: dict[str, Callable[[float], float]] = {
    "linear": linear_progress,
    "cosine": cosine_progress,
    "slow-exponential": slow_exponential_progress,
    "fast-exponential": fast_exponential_progress,
}
