"""The best score of the whole run is no better than doing nothing.

## What it checks
The best stretch of each validation metric against, in this order: the score of a trivial method logged
beside it (bicubic, identity, majority); the score before the first step; the cross-entropy or accuracy of
guessing, where the settings or the first loss give the number of classes or tokens; a perplexity of the whole
vocabulary; what every constant answer scores by definition (an R2, a correlation or a kappa of 0, an area of
one half under the ROC curve); for a masked diffusion the loss of uniform guesses at the difficulty of each
step; and, weakly, for super-resolution, the PSNR that plain interpolation reaches on natural images (23 dB
and more at twice the size) and that a single flat colour reaches (18 dB at most; 10 dB for any pictures).
Where none is known, nothing was compared, and the rule counts as not examined.

## Why it matters
It decides where to look. A model that cannot beat doing nothing does not suffer from its schedule: the
metric, the loss or the data path is broken, and the shape of its curve is a red herring.

## When it is harmless
A fine-tuned model may begin at its best on the old task. PSNR depends on the images: synthetic or very
noisy ones can lie below the usual range, so that evidence is weak by itself. Some things cannot be predicted:
returns of a market have an R2 of 0 at best.

## References
- Cross-entropy of a uniform guess over C choices: ln C
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd, smoothed
from stethoscope.detectors.trend import trend
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.baseline import Baseline, common_size
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.masked_diffusion import MaskedDiffusion
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="VAL103", since="0.1", severity=Severity.WARNING)

LEAST_EVALUATIONS = 4
NOISES = 3.0  # deviations by which the start must be better than the end
FLAT_COLOUR_DB = 18.0  # the most that one flat colour scored on natural images
INTERPOLATION_DB = {2: 23.0, 3: 21.0, 4: 20.0}  # the least that bicubic scored, by enlargement
SUBSTANTIAL_POINTS = 100
NEAR_CHANCE = 0.02
STARTS_LIKE_GUESSING = 0.3  # a cross-entropy begins within this share of ln C
ACCURACY_MARGIN = 1.3  # times chance
LEAST_LOSSES = 5
LEARNED = 0.5  # of its first value: a training loss below has learned something
STILL_FALLS = 0.9  # of its level after an eighth of the run
VANISHED = 1e-6  # of the first losses: what is minimised is no longer the error
SURER = 0.8  # the strength where the training loss says which side is to blame
GREY_DB = 10.0  # a flat grey scores 6 at least, whatever the pictures are, and mostly more than this
MANY_EVALUATIONS = 8  # at guessing, where the number of classes is only inferred
MOST_CERTAIN, LEAST_CERTAIN = 0.65, 7.0  # the cross-entropies of guessing among 2 to 1,000 classes
FAR_ABOVE_CHANCE = 3.0  # a loss above this is on another scale than the formula
# What any constant answer scores, and how far above it the best of some noisy scores still says nothing.
CONSTANT_ANSWERS = {
    "r2": (0.0, 0.005),
    "auc": (0.5, 0.005),
    "mcc": (0.0, 0.01),
    "kappa": (0.0, 0.01),
    "pearson": (0.0, 0.01),
    "spearman": (0.0, 0.01),
}
FROM_AFAR = 20.0  # times the last training loss is the first
FAR_BELOW = -0.25  # an R2 that no network near its start has: answers are far from their targets
LOG_THIS = "log the score of a trivial method beside the model's (val/psnr_bicubic, val/accuracy_majority)"


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that could be made, and what was lost by it, if anything."""

    lost: Finding | None = None


def examine(
    baseline: Baseline,
    validation: Validation | None,
    loss: TrainLoss | None,
    rates: LearningRate | None,
    diffusion: MaskedDiffusion | None,
    curriculum: Curriculum | None,
) -> Iterator[Finding]:
    """Fire on the first comparison that the run loses."""
    metrics = validation.judged if validation else {}
    if not metrics and loss is None:
        raise InsufficientData("neither a validation metric nor a loss was logged")
    warming_up = rates is not None and rates.still_warming_up
    made = False
    for compared in (
        *_of_scores(metrics, baseline, loss, warming_up),
        *(_of_loss(loss, baseline, metrics, diffusion, curriculum) if loss and not warming_up else ()),
    ):
        made = True
        if compared.lost is not None:
            yield _beside_training(compared.lost, loss)
            return
    if not made:
        raise InsufficientData("nothing tells what a model that learned nothing would score", LOG_THIS)


def _beside_training(lost: Finding, loss: TrainLoss | None) -> Finding:
    """The finding, with whether the training data are learned: that parts a yardstick from a network."""
    values = loss.series.finite().values if loss is not None and loss.measures_progress else np.empty(0)
    if len(values) < LEAST_LOSSES:
        return lost
    if float(np.abs(values[-LEAST_LOSSES:]).max()) < VANISHED * float(np.abs(values[:LEAST_LOSSES]).max()):
        return replace(lost, evidence={**lost.evidence, "loss_vanishes": True}, strength=SURER)
    if float(values.min()) < 0.0:
        return lost
    early, last = values[: max(2, len(values) // 4)], float(np.median(values[-max(1, len(values) // 10) :]))
    # A loss that comes down from a first leap and stays has learned nothing but the mean.
    settled = float(np.median(early[len(early) // 2 :]))
    learns = last < LEARNED * float(values[0]) and last < STILL_FALLS * settled
    afar = float(values[0]) >= FROM_AFAR * last and lost.evidence.get("far_below") is True
    return replace(
        lost,
        evidence={**lost.evidence, "learns": learns, "from_afar": afar},
        strength=max(lost.strength, SURER),
    )


def _of_scores(
    metrics: dict[str, Metric], baseline: Baseline, loss: TrainLoss | None, warming_up: bool
) -> Iterator[Compared]:
    from_zero = _against_step_zero(metrics)
    for name, metric in metrics.items():
        tried = (
            _against_reference(metric, baseline.references.get(name)),
            from_zero,
            _psnr(metric, baseline),
            _accuracy(metric, baseline, loss),
            None if warming_up else _against_constant_answer(metric),
            None if warming_up else _perplexity(metric, baseline),
        )
        yield from (compared for compared in tried if compared is not None)


def _of_loss(
    loss: TrainLoss,
    baseline: Baseline,
    metrics: dict[str, Metric],
    diffusion: MaskedDiffusion | None,
    curriculum: Curriculum | None,
) -> Iterator[Compared]:
    if diffusion is not None:
        compared = _against_knowing_nothing(loss, diffusion, curriculum)
    else:
        compared = _against_guessing(loss, baseline, metrics)
    if compared is not None:
        yield compared


def _best(metric: Metric) -> float:
    """The best window mean, higher being better: one lucky value does not count."""
    values = metric.sign * metric.series.values
    width = max(1, len(values) // 10)
    return float(smoothed(values, width)[width - 1 :].max())


def _against_reference(metric: Metric, reference: Series | None) -> Compared | None:
    if reference is None:
        return None
    trivial, best = float(np.median(reference.values)), metric.sign * _best(metric)
    if metric.sign * (best - trivial) > 0.0:
        return Compared()
    text = f"{reference.name}, a trivial method"
    return Compared(_finding(metric.series, best, trivial, text, "logged", 1.0))


def _against_step_zero(metrics: dict[str, Metric]) -> Compared | None:
    """The first metric that never beats its own start, where most metrics do not."""
    began = [metric for metric in metrics.values() if _began_at_zero(metric.series)]
    if not began:
        return None
    beaten = [metric for metric in began if _never_beats_its_start(metric)]
    if 2 * len(beaten) <= len(began):
        return Compared()
    metric = beaten[0]
    best, first = metric.sign * _best(_later(metric)), float(metric.series.values[0])
    return Compared(_finding(metric.series, best, first, "the score before the first step", "step 0", 0.9))


def _never_beats_its_start(metric: Metric) -> bool:
    """Whether no later stretch is as good as the start, and the end is worse by more than noise."""
    values = metric.sign * metric.series.values
    if not values[0] >= _best(_later(metric)):
        return False
    later = values[1:]
    end = float(np.median(later[-max(2, len(later) // 4) :]))
    line = trend(np.arange(len(later)), later)
    noise = max(noise_sd(later), line.residual_sd if line else 0.0)
    return bool(values[0] - end > NOISES * noise)


def _began_at_zero(series: Series) -> bool:
    return len(series) >= LEAST_EVALUATIONS and int(series.steps[0]) == 0 and series.axis == "step"


def _later(metric: Metric) -> Metric:
    return Metric(metric.series.select(slice(1, None)), metric.better)


def _psnr(metric: Metric, baseline: Baseline) -> Compared | None:
    if "psnr" not in words(metric.series.name) or len(metric.series) < LEAST_EVALUATIONS:
        return None
    best = _best(metric)
    if best < GREY_DB:
        return Compared(_finding(metric.series, best, GREY_DB, "what flat grey scores", "flat colour", 0.6))
    if baseline.enlargement is None:
        return None
    usual = INTERPOLATION_DB.get(int(str(baseline.enlargement.value)), 0.0)
    if best < FLAT_COLOUR_DB:
        text = "what one flat colour can reach"
        return Compared(_finding(metric.series, best, FLAT_COLOUR_DB, text, "flat colour", 0.6))
    if best < usual:
        text = f"what bicubic interpolation reaches at {baseline.enlargement.value}x"
        return Compared(_finding(metric.series, best, usual, text, "bicubic", 0.3, Severity.NOTE))
    return Compared()


def _accuracy(metric: Metric, baseline: Baseline, loss: TrainLoss | None) -> Compared | None:
    """An accuracy of guessing among the configured classes, or those that the first loss tells."""
    if not words(metric.series.name) & {"accuracy", "acc", "top1", "acc1"}:
        return None
    known = baseline.classes.value if baseline.classes else None
    classes = known if isinstance(known, int) else _classes_by_first_loss(loss)
    enough = len(metric.series) >= (LEAST_EVALUATIONS if known else MANY_EVALUATIONS)
    if classes is None or not enough:
        return None
    best = _best(metric)
    if best > 1.0:
        best /= 100.0
    if best > ACCURACY_MARGIN / classes:
        return Compared()
    if known is None and best < 1.0 / (ACCURACY_MARGIN * classes):
        return None  # far below guessing, it is another task than the loss told
    found = _finding(metric.series, best, 1.0 / classes, f"guessing among {classes} classes", "chance", 0.7)
    falls = _falls_below_guessing(loss, classes)
    return Compared(replace(found, evidence={**found.evidence, "train_falls": falls}))


def _against_constant_answer(metric: Metric) -> Compared | None:
    """A score for which every constant answer gets the same, whatever the data are."""
    kind = next((word for word in CONSTANT_ANSWERS if word in words(metric.series.name)), None)
    if kind is None or len(metric.series) < LEAST_EVALUATIONS:
        return None
    constant, margin = CONSTANT_ANSWERS[kind]
    best = _best(metric)
    if kind == "auc" and best > 1.0:
        best /= 100.0
    if best > constant + margin:
        return Compared()
    lost = _finding(metric.series, best, constant, "what any constant answer scores", "constant", 0.6)
    far = kind == "r2" and float(np.median(metric.series.values[-3:])) < FAR_BELOW
    return Compared(replace(lost, evidence={**lost.evidence, "far_below": far}))


def _perplexity(metric: Metric, baseline: Baseline) -> Compared | None:
    """A perplexity of the whole vocabulary: every token is as likely as any other."""
    chance = baseline.chance_loss if baseline.vocabulary else None
    told = "perplexity" in words(metric.series.name) and len(metric.series) >= LEAST_EVALUATIONS
    if chance is None or not told or baseline.vocabulary is None:
        return None
    best = metric.sign * _best(metric)
    if best <= 0.0 or float(np.log(best)) < (1.0 - NEAR_CHANCE) * chance:
        return Compared()
    text = f"guessing among all tokens ({baseline.vocabulary.dotted})"
    return Compared(_finding(metric.series, best, float(np.exp(chance)), text, "chance", 0.8))


def _classes_by_first_loss(loss: TrainLoss | None) -> int | None:
    """The number of classes for which guessing costs what the first steps cost."""
    if loss is None or len(loss.terms) > 1:
        return None
    values = loss.series.finite().values
    first = float(np.median(values[:LEAST_LOSSES])) if len(values) >= SUBSTANTIAL_POINTS else 0.0
    if not MOST_CERTAIN < first < LEAST_CERTAIN:
        return None
    classes = round(float(np.exp(first)))
    return classes if abs(first / float(np.log(classes)) - 1.0) <= NEAR_CHANCE else None


def _falls_below_guessing(loss: TrainLoss | None, classes: int) -> bool:
    """Whether the training loss ends below that of guessing: the training data are learned by heart."""
    values = loss.series.finite().values if loss else np.empty(0)
    return len(values) >= LEAST_LOSSES and bool(
        np.median(values[-max(1, len(values) // 10) :]) < (1.0 - NEAR_CHANCE) * np.log(classes)
    )


def _against_guessing(loss: TrainLoss, baseline: Baseline, metrics: dict[str, Metric]) -> Compared | None:
    series = loss.series.finite()
    if len(series) < SUBSTANTIAL_POINTS or len(loss.terms) > 1 or not loss.measures_progress:
        return None
    first = float(series.values[0])
    size = common_size(first)
    chance = baseline.chance_loss or (float(np.log(size)) if size else None)
    if chance is None or abs(first / chance - 1.0) > STARTS_LIKE_GUESSING:
        return None
    held_out = [metrics["val/loss"].series] if "val/loss" in metrics else []
    best = min(-_best(Metric(one, "lower")) for one in [series, *held_out])
    if best < (1.0 - NEAR_CHANCE) * chance:
        return Compared()
    text = f"what guessing costs ({_choices(baseline, size)})"
    return Compared(_finding(series, best, chance, text, "chance", 0.8))


def _against_knowing_nothing(
    loss: TrainLoss, diffusion: MaskedDiffusion, curriculum: Curriculum | None
) -> Compared | None:
    """A masked diffusion's loss against that of uniform guesses at the same difficulty."""
    series = loss.series.finite()
    if len(series) < LEAST_LOSSES:
        return None
    difficulty = np.ones(len(series))
    if curriculum is not None:
        if curriculum.difficulty is None:
            return None  # the loss follows a difficulty that nobody logged
        difficulty = np.interp(series.steps, curriculum.difficulty.steps, curriculum.difficulty.values)
    ratio = series.values / np.maximum(diffusion.chance(difficulty), 1e-12)
    level = float(np.median(ratio[len(ratio) // 2 :])) / _summed_over(ratio, diffusion.length)
    if level > FAR_ABOVE_CHANCE:
        return None
    if level < 1.0 - NEAR_CHANCE:
        return Compared()
    text = (
        f"times the loss of a model that knows nothing ({diffusion.tokens.dotted}: {diffusion.tokens.value})"
    )
    return Compared(
        Finding(
            series.where(),
            f"{series.name} stays at {level:.2f} {text}, at the difficulty of each step",
            {"metric": series.name, "best": level, "baseline": 1.0, "kind": "masked diffusion"},
            strength=0.8,
            onset=int(series.steps[0]),
        )
    )


def _summed_over(ratio: Values, length: int | None) -> int:
    """The number of tokens that the loss is summed over; 1 where it is their mean."""
    return length if length is not None and float(np.median(ratio)) > 0.5 * length else 1


def _choices(baseline: Baseline, size: int | None) -> str:
    chosen = baseline.vocabulary or baseline.classes
    return f"{chosen.dotted}: {chosen.value}" if chosen else f"ln {size}"


def _finding(
    series: Series,
    best: float,
    trivial: float,
    text: str,
    kind: str,
    strength: float,
    severity: Severity = Severity.WARNING,
) -> Finding:
    return Finding(
        series.where(),
        f"the best {series.name} of the run is {best:.4g}, no better than {trivial:.4g}: {text}",
        {"metric": series.name, "best": best, "baseline": trivial, "kind": kind},
        strength=strength,
        onset=int(series.steps[0]),
        severity=severity,
    )
