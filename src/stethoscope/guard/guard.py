"""Guard: three lines in a training loop, and the run survives.

guard = Guard(model, optimizer, directory="runs/x")
for batch in guard.batches(loader):
    loss = ...
    guard.loss(loss)
    loss.backward()
    optimizer.step()
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn
from torch.optim import Optimizer

from stethoscope.errors import GuardStopped
from stethoscope.guard import checkpoints, judging
from stethoscope.guard.checkpoints import Saved
from stethoscope.guard.court import LOGGER, Court, Witness, shared
from stethoscope.guard.culprit import investigation
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Mode, Policy, Threshold
from stethoscope.guard.ranks import Poll, all_agree, common, earliest, poll, ranks
from stethoscope.guard.record.forwarding import forwarder
from stethoscope.guard.record.recorder import Recorder
from stethoscope.guard.rewind.returning import Returning
from stethoscope.guard.sensing import structure
from stethoscope.guard.sensing.buffers import KeptBuffers
from stethoscope.guard.sensing.finite import infinite_by_design
from stethoscope.guard.sensing.scaler_watch import inner
from stethoscope.guard.sensing.senses import Amount
from stethoscope.guard.sensing.stepping import Update, Way
from stethoscope.guard.session import Session

STATE = 1  # version of `state_dict`
ELSEWHERE = (
    "This rank's own loss was finite at that step: it was another's that was not, whose record says more."
)
LOOKS = 2  # steps of a window at which it is seen whether gradients are cleared, on a device
MOST_SAVED = 64  # checkpoints that are remembered, to name the last good one


class Guard:
    """Watches a training from inside, keeps bad steps from the weights, and writes down what happened.

    `optimizer` may be several. `scaler`, `schedule` and `ema` are what the loop uses of them; they are needed
    to see the loss scale and to go back. `directory` is where the flight record and black boxes are written;
    without one nothing is written. `total_steps` is how many the run is to take, for those who read the
    record. Wherever Guard did not act, training is bit-identical to one without it.
    """

    def __init__(
        self,
        model: nn.Module | None,
        optimizer: Optimizer | Sequence[Optimizer],
        *,
        scaler: Any = None,
        schedule: Any = None,
        ema: Any = None,
        directory: str | Path | None = None,
        mode: Mode = "protect",
        clip_spikes: bool = False,
        rewind: bool = False,
        thresholds: Mapping[str, Threshold] | None = None,
        forward_to: str | Sequence[str] = (),
        policy: Policy | None = None,
        total_steps: int | None = None,
        on_stop: Callable[[GuardStopped], None] | None = None,
    ) -> None:
        optimizers = [inner(one) for one in (optimizer if isinstance(optimizer, Sequence) else [optimizer])]
        chosen = Policy(mode, clip_spikes, rewind, thresholds or {}) if policy is None else policy
        self.policy = chosen
        self._model = model
        self._ranks = ranks()
        self._on_stop = on_stop
        self._failure: str | None = None
        self._closed = False
        self._waiting: list[Observation] = []  # what the ranks have not shared yet
        self._poll: tuple[int, Poll] | None = None  # under way, and the first step that it is about
        self._votes: dict[str, bool] = {}
        self._spoiled_elsewhere: set[int] = set()  # steps whose loss was not finite, though this rank's was
        averages = [one for one in (ema, getattr(ema, "module", None)) if isinstance(one, nn.Module)]
        self._buffers = KeptBuffers([one for one in (model, *averages) if one is not None])
        self._buffers.keep(0)
        evaluating = self.settle if self._buffers else None
        self._session = Session(model, optimizers, scaler, chosen, self._fail, evaluating)
        self._court = Court(
            chosen, _witnesses(directory, forward_to, self._ranks.rank, total_steps), self._ranks.rank == 0
        )
        self._settled_at = 0  # the step up to which everything was judged
        self._went_back_at = 0  # the step before which all weights are gone
        self._cleared = [structure.ClearedGradients(one) for one in optimizers]
        self._excused = frozenset() if model is None else infinite_by_design(model)
        self._saved: deque[Saved] = deque(maxlen=MOST_SAVED)
        self._returning = Returning(model, optimizers, scaler, schedule, ema, chosen)
        self._investigation = investigation.Investigation(
            model, optimizers, directory, None if self._ranks.alone else self._ranks.rank, chosen
        )
        self._court.investigate = self._investigate
        self._investigation.tell = self._court.tell
        self._session.after_step = self._watch
        if chosen.rewind:
            self._session.rate_factor = self._returning.rate_factor
            self._session.before_step = self._before
        self._begin(model, optimizers)

    # --- what a loop calls

    def loss(
        self,
        loss: Tensor,
        parts: Mapping[str, Amount] | None = None,
        samples: Sequence[Any] | None = None,
    ) -> Tensor:
        """Take the loss of one batch before its backward pass, and give it back as it is.

        `parts` are the components of the loss by name; `samples` say which samples the batch was made of, to
        be named where one of them is bad.
        """
        if self._failure is None:
            try:
                self._session.loss(loss, parts)
                if samples is not None:
                    self._investigation.samples(self._session.step, samples)
            except Exception as problem:
                self._fail(problem)
        return loss

    def batches(self, loader: Any) -> Iterator[Any]:
        """Iterate over a loader; the wait for its data is measured, and a bad batch can be kept."""
        session, investigation = self._session, self._investigation
        waiting = iter(loader)
        while True:
            began = time.perf_counter()
            try:
                batch = next(waiting)
            except StopIteration:
                return
            session.waited += time.perf_counter() - began
            investigation.batch(batch)
            yield batch

    def waited(self, seconds: float) -> None:
        """Count a wait for data, where a loop does not iterate over `batches`."""
        self._session.waited += seconds

    def settle(self) -> None:
        """Judge every step so far and mend what a bad one left behind; this waits for the device.

        The first evaluation behind a training step does it by itself.
        """
        if self._failure is None and self._settled_at != self._session.step:
            self._settled_at = self._session.step
            try:
                self._take_up(self._session.flush())
            except GuardStopped:
                raise
            except Exception as problem:
                self._fail(problem)

    def allows(self, state: Any, path: str | Path) -> bool:
        """Say whether a state may be written to `path`: it is finite, or Guard only observes.

        Where the state is spread over ranks, all of them must ask, and get one answer.
        """
        is_told_only = not self.policy.protects
        try:
            happening = checkpoints.refused(
                state,
                Path(path),
                step=self.step,
                excused=self._excused,
                is_told_only=is_told_only,
                agree=self._agreement(state),
            )
        except Exception as problem:
            self._fail(problem)
            return True
        if happening is not None:
            self._court.tell(happening)
        else:
            self._saved.append(Saved(Path(path), self.step))
        return happening is None or is_told_only

    def save(self, state: Any, path: str | Path) -> bool:
        """Write a checkpoint with `torch.save`, whole or not at all; one that is not finite replaces nothing.

        Says whether `path` holds this state. Where it is spread over ranks, all of them must save.
        """
        happening = checkpoints.save(
            state, Path(path), step=self.step, excused=self._excused, agree=self._agreement(state)
        )
        if happening is None:
            self._saved.append(Saved(Path(path), self.step))
        saved = Happening(Kind.CHECKPOINT_SAVED, self.step, Severity.NOTE, f"Saved {path}.")
        self._court.tell(happening or saved)
        return happening is None

    def _agreement(self, state: Any) -> Callable[[bool], bool]:
        if self._ranks.alone or not checkpoints.is_spread(state):
            return checkpoints.alone
        return partial(all_agree, ranks=self._ranks)

    def close(self) -> None:
        """Judge what is left, end the record, and take all hooks off."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._failure is None:
                self._court.hear(self._since_going_back([*self._waiting, *self._session.flush()]))
        except Exception as problem:
            self._fail(problem)
        finally:
            self._session.remove()
            self._investigation.remove()
            for watch in self._cleared:
                watch.remove()
            self._court.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- what a person looks at

    @property
    def happenings(self) -> tuple[Happening, ...]:
        """What happened, the last thousand of it."""
        return tuple(self._court.happenings)

    @property
    def step(self) -> int:
        """Optimizer steps since the training began, skipped ones included."""
        return self._session.step

    @property
    def failure(self) -> str | None:
        """What went wrong inside Guard, which then went out of the way."""
        return self._failure

    # --- what a checkpoint holds

    def state_dict(self) -> dict[str, Any]:
        """What Guard has learned, as plain values."""
        return {
            "version": STATE,
            "step": self._session.step,
            "judgement": judging.to_state(self._court.judgement),
            "returning": self._returning.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with what was learned before."""
        if state.get("version") != STATE:
            raise ValueError(f"this state of Guard has version {state.get('version')!r}; expected {STATE}")
        self._session.step = int(state["step"])
        self._court.judgement = judging.from_state(state["judgement"])
        self._returning.load_state_dict(state["returning"])
        self._session.rate_factor = self._returning.rate_factor
        self._set_spike_bar()
        if self.step:
            went_on = f"Goes on at step {self.step} with what was learned before."
            self._court.tell(Happening(Kind.RESUMED, self.step, Severity.NOTE, went_on))

    # --- what happens at every step

    def _before(self, update: Update) -> None:
        if update.number == 0:
            self._returning.before(self._session.step)
            trouble, self._returning.trouble = self._returning.trouble, None
            if trouble is not None:
                self._court.tell(trouble)

    def _watch(self, update: Update) -> None:
        """Behind each step of an optimizer; the row of the step is closed by the session just after."""
        cleared = self._cleared[update.number]
        if not self._session.lags or cleared.is_suspicious or self._session.step % self.policy.window < LOOKS:
            cleared.stepped()
        if update.known_bad and not self._session.lags:
            self._investigation.bad_gradients(self._session.step)

    def _stepped(self) -> None:
        """Judge what has arrived; the session calls this when steps are complete."""
        is_window = self._session.step % self.policy.window == 0
        if self._failure is None:
            self._tell_of_gradients()
        if self._failure is None:
            if self._buffers and is_window:
                self._buffers.keep(self._session.step)
            self._take_up(self._session.arrived())
        if not self._ranks.alone and is_window:
            self._agree()

    def _take_up(self, observations: Sequence[Observation]) -> None:
        """Judge steps that have arrived; among ranks, when the losses of all of them are known."""
        observations = [one if _is_finite(one) else self._looked_into(one) for one in observations]
        if not self._ranks.alone:
            self._waiting += observations
        elif observations:
            self._answer(self._judged(observations))

    def _set_spike_bar(self) -> None:
        if self.policy.clip_spikes and self.policy.protects:
            bar, level = (
                judging.spike_bar(self._court.judgement),
                judging.usual_gradient(self._court.judgement),
            )
            self._session.spike_level = level
            self._session.spike_bar = bar if level < math.inf else math.inf

    def _tell_of_gradients(self) -> None:
        for watch in self._cleared:
            happening = watch.happening(self._session.step)
            if happening is not None:
                self._court.tell(happening)

    def _judged(self, observations: Sequence[Observation]) -> Happening | None:
        """Let the court judge, and set what depends on its judgement."""
        observations = self._since_going_back(observations)
        # A scaler lowers its scale at every skip. Where the loss itself was not finite that cures nothing, as
        # the forward pass never sees the scale, and step by step it would lead to a scale of zero.
        self._session.undo_backoffs(sum(map(_is_forward_overflow, observations)))
        asked = self._court.hear(observations)
        self._set_spike_bar()
        return asked

    def _since_going_back(self, observations: Sequence[Observation]) -> Sequence[Observation]:
        """Leave out steps that were on their way when the run went back: they are written down only."""
        gone = [one for one in observations if one.step < self._went_back_at]
        for witness in self._court.witnesses if gone else ():
            witness.rows(gone)
        return observations[len(gone) :]

    def _looked_into(self, bad: Observation) -> Observation:
        """Mend what a bad step left behind, and look at what it was given, unless that was done before it."""
        if self._buffers:
            self._buffers.mend(bad.step)
        given = None if "input" in bad.values else self._investigation.inputs(bad.step)
        return bad if given is None else replace(bad, values={**bad.values, "input": given})

    def _agree(self) -> None:
        """Judge with the losses of all ranks, put answers to the vote, and do what the last vote says.

        A rank whose Guard has failed still takes part: the others wait for it.
        """
        window = self.policy.window
        last, self._poll = self._poll, None
        result = None if last is None else last[1].result()
        first = self._session.step - (3 if self._session.lags else 1) * window
        losses = {one.step: one.values.get("loss", 0.0) for one in self._waiting}
        own = [losses.get(first + at, 0.0) for at in range(window)]
        self._poll = first, poll(own, self._votes, self._ranks)
        self._votes = {}
        if last is None or result is None:
            return
        if self._failure is None:
            self._judge_shared(last[0], result[0])
        if any(result[1].values()):
            self._answer(_voted(result[1], self._session.step, self._court.happenings))

    def _judge_shared(self, first: int, losses: Sequence[float]) -> None:
        until = first + self.policy.window
        means = {first + at: loss for at, loss in enumerate(losses)}
        due = [one for one in self._waiting if one.step < until]
        self._spoiled_elsewhere = {
            one.step for one in due if _is_finite_loss(one) and not math.isfinite(means.get(one.step, 0.0))
        }
        self._waiting = [one for one in self._waiting if one.step >= until]
        asked = self._judged(shared(due, means))
        if asked is not None:
            self._votes = {asked.answer.value: True}

    def _answer(self, asked: Happening | None) -> None:
        if asked is None or not self.policy.protects:
            return
        if asked.answer is Answer.REWIND:
            step = asked.onset if asked.onset is not None else asked.step
            shared_steps = None
            if not self._ranks.alone:
                step = earliest(step, self._ranks) or 0
                shared_steps = common(self._returning.good_steps(), self._ranks)
            saved = checkpoints.last_good(self._saved, step)
            told = self._returning.go_back(step, self._session.step, shared_steps, saved)
            self._court.tell(told)
            if told.kind is Kind.REWOUND:
                self._went_back_at = self._session.step
                self._court.judgement = judging.after_rewind(self._court.judgement)
        elif asked.answer is Answer.STOP:
            self._stop(asked)

    def _stop(self, asked: Happening) -> None:
        report = self._court.report(asked)
        self._court.tell(Happening(Kind.STOPPED, self._session.step, Severity.CRITICAL, report))
        stopped = GuardStopped(report)
        self.close()
        if self._on_stop is None:
            raise stopped
        self._on_stop(stopped)

    def _investigate(self, happening: Happening) -> None:
        if happening.kind is Kind.NON_FINITE_LOSS and happening.step in self._spoiled_elsewhere:
            self._court.tell(Happening(Kind.CULPRIT, happening.step, Severity.WARNING, ELSEWHERE))
            return
        saved = checkpoints.last_good(self._saved, happening.step)
        for found in self._investigation.of(happening, self._court.recent, saved):
            self._court.tell(found)

    def _begin(self, model: nn.Module | None, optimizers: Sequence[Optimizer]) -> None:
        """Look at how things hang together before the first step."""
        self._session.moved = self._investigation.begin_step
        self._session.complete = self._stepped
        self._session.unseen = self._tell_unseen
        left_out = structure.left_out(model, optimizers) if model is not None else None
        for happening in (left_out, self._waits()):
            if happening is not None:
                self._court.tell(happening)

    def _tell_unseen(self, why: str) -> None:
        """Say once that steps go past Guard."""
        if any(one.kind is Kind.OBSERVES_ONLY for one in self._court.happenings):
            return
        self._court.tell(
            Happening(
                Kind.OBSERVES_ONLY,
                self._session.step,
                Severity.WARNING,
                why,
                "Guard cannot see their gradients: bad steps are not skipped, and none is recorded.",
                "compile or capture the forward and backward pass only, and leave optimizer.step() outside.",
            )
        )

    def _waits(self) -> Happening | None:
        """That a GPU is waited for at each step, because an optimizer cannot skip by itself."""
        if (
            not self.policy.protects
            or self._session.device.type == "cpu"
            or Way.HOST not in self._session.ways
        ):
            return None
        return Happening(
            Kind.WAITS,
            0,
            Severity.WARNING,
            "This optimizer cannot skip a step on the device.",
            "Guard looks at one number per step instead, and the host waits for it.",
            'make the optimizer with fused=True, or use mode="observe".',
        )

    def _fail(self, problem: Exception) -> None:
        """Go out of the way, and say so once."""
        if self._failure is not None:
            return
        self._failure = f"{type(problem).__name__}: {problem}"
        self._session.is_sensing = False
        LOGGER.error(
            "Guard itself failed and is off; the training goes on without it. %s",
            self._failure,
            exc_info=problem,
        )


def _is_finite(one: Observation) -> bool:
    """Whether the loss and the gradient of a step were numbers."""
    return all(math.isfinite(one.values.get(name, 0.0)) for name in ("loss", "grad_norm"))


def _is_finite_loss(one: Observation) -> bool:
    return math.isfinite(one.values.get("loss", 0.0))


def _is_forward_overflow(one: Observation) -> bool:
    """Whether a scaler skipped a step because its loss was not finite."""
    return one.skipped and "loss_scale" in one.values and not math.isfinite(one.values.get("loss", 0.0))


def _voted(votes: Mapping[str, bool], step: int, happenings: Sequence[Happening]) -> Happening:
    """What all ranks do: one of them, this or another, asked for it."""
    answer = Answer.STOP if votes["stop"] else Answer.REWIND
    own = next((one for one in reversed(happenings) if one.answer is answer), None)
    if own is not None:
        return own
    return Happening(
        Kind.STOPPED if answer is Answer.STOP else Kind.REWOUND,
        step,
        Severity.CRITICAL,
        "Another rank asked for this; its record says why.",
        answer=answer,
    )


def _witnesses(
    directory: str | Path | None, forward_to: str | Sequence[str], rank: int, total_steps: int | None
) -> list[Witness]:
    named = [forward_to] if isinstance(forward_to, str) else list(forward_to)
    facts = {} if total_steps is None else {"total_steps": total_steps}
    witnesses: list[Witness] = [Recorder(Path(directory), rank, facts)] if directory is not None else []
    if rank == 0:
        witnesses += [forwarder(name, Path(directory or ".")) for name in named]
    return witnesses
