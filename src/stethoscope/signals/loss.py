"""The training loss, its terms, and what kind of loss it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.run import Program, Run, Series
from stethoscope.run.names import LOWER, better
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"step": step, "loss": loss.item()})'
# Words in the name of a term that plays against another: its rise is the opponent's gain.
_OPPONENTS = {"gan", "wgan", "adv", "adversarial", "disc", "discriminator", "critic", "generator", "gen"}
ADVERSARIAL = frozenset(_OPPONENTS | {"real", "fake", "d", "gp", "r1"})
# Words in the name of anything that a reinforcement learner logs: its loss has no floor to fall to.
_REWARDS = {"reward", "rewards", "return", "returns", "episode", "advantage", "advantages"}
REINFORCED = frozenset(_REWARDS | {"policy", "actor", "critic", "rollout", "ppo", "grpo"})
# Terms that reward what looks right over what matches pixel by pixel.
PERCEPTUAL = frozenset({"percep", "perceptual", "lpips", "vgg", "style", "dists"})
# Terms that rise by design as a model uses its latent space or leaves its reference.
RISES_BY_DESIGN = frozenset(
    ("kl", "kld", "kldiv", "reg", "regularization", "regularizer", "commit", "commitment")
)

_QUEUE = re.compile(r"""register_buffer\(\s*["']\w*queue|_enqueue\(""")


@dataclass(frozen=True, slots=True, eq=False)
class TrainLoss:
    """The total loss (or the term that stands for it) and the logged terms by name.

    `adversarial` says that part of it is a game; `reinforced` that the run learns from rewards; `queued` that
    samples are told from a queue of earlier outputs. No such loss measures progress.
    """

    series: Series
    terms: Mapping[str, Series]
    adversarial: bool
    reinforced: bool
    queued: bool = False

    @property
    def measures_progress(self) -> bool:
        """Whether a lower value means a better model."""
        return not (self.adversarial or self.reinforced or self.queued)

    @property
    def progress(self) -> Series | None:
        """The loss where it measures progress; in a game its largest term that does; None for rewards."""
        if self.reinforced:
            return None
        return _largest_honest(self.terms) if self.adversarial else self.series


def measure(run: Run) -> TrainLoss | Missing:
    """Find the total loss, the largest term that measures progress, or an error that stands for it."""
    terms = {name: one for name, one in run.family("loss").items() if len(one.finite())}
    total = _measured(run.series.get("loss"), run.series.get("grad_norm"))
    if total is None or len(total) == 0:
        total = _largest_honest(terms) or _error_in_training(run.series)
        if total is None:
            return Missing("the training loss was not logged", LOG_THIS)
        adversarial = False
    else:
        adversarial = bool(_opponents(terms))
    return TrainLoss(total, terms, adversarial, _reinforced(run.series), _is_against_queue(run.program))


def _is_against_queue(program: Program | None) -> bool:
    """Whether the loss tells samples from a queue of earlier outputs, as in MoCo.

    It rises while the queue fills with what the network itself gives, and gets harder as that gets better.
    """
    return program is not None and any(_QUEUE.search(source.text) for source in program.sources)


def _measured(loss: Series | None, norm: Series | None) -> Series | None:
    """The loss with NaN where it is exactly 0.0 beside a gradient norm that is not finite.

    No loss of zero has such a gradient: some trainers print a window of NaN losses so.
    """
    if loss is None or norm is None or loss.axis != norm.axis or loss.values.all():
        return loss
    false = (loss.values == 0.0) & np.isin(loss.steps, norm.steps[~np.isfinite(norm.values)])
    return replace(loss, values=np.where(false, np.nan, loss.values)) if false.any() else loss


def _opponents(terms: Iterable[str]) -> frozenset[str]:
    """The terms that play against another; where D has a loss, that of G is one, whatever else is in it."""
    said = {name: words(name) for name in terms}
    against = {name for name, spoken in said.items() if spoken & ADVERSARIAL}
    if any("d" in spoken for spoken in said.values()):
        against |= {name for name, spoken in said.items() if spoken - {"loss"} == {"g"}}
    return frozenset(against)


def _largest_honest(terms: Mapping[str, Series]) -> Series | None:
    opponents = _opponents(terms)
    honest = [one for name, one in terms.items() if name not in opponents]
    return max(honest, key=lambda one: float(np.median(np.abs(one.finite().values))), default=None)


def _error_in_training(series: Mapping[str, Series]) -> Series | None:
    """The error on training data that was logged most often: train/mse, train/nll, train/perplexity."""
    errors = [
        one
        for name, one in series.items()
        if name.startswith("train/") and better(name) == LOWER and len(one)
    ]
    return max(errors, key=len, default=None)


def words(name: str) -> frozenset[str]:
    """The words in a name: `l_d_real` holds l, d and real."""
    return frozenset(re.split(r"[^a-z0-9]+", name.lower()))


def _reinforced(names: Iterable[str]) -> bool:
    return any(words(name) & REINFORCED for name in names)
