"""How often each sample was trained on in a run that crashes now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

from stethoscope.blocks.resumable_sampler import ResumableSampler
from stethoscope.figures.chart import Chart, Line

SAMPLES, BATCH = 600, 10
CRASH_EVERY, STEPS = 40, 240  # batches; an epoch has 60


def picture() -> Chart:
    """Train four epochs' worth of batches, with a crash every 40; count what each sample was used for."""
    resumed = _uses(is_restored=True)
    forgotten = _uses(is_restored=False)
    places = range(SAMPLES)
    return Chart(
        title="Six stretches of 40 batches, a crash after each; an epoch has 60",
        x_label="sample, by its place in the first epoch's order",
        y_label="times trained on",
        lines=[
            Line("resumed (this block)", places, resumed, "steps", "good"),
            Line("epoch begun again", places, forgotten, "steps", "bad"),
        ],
        y_limits=(-0.3, None),
        note=f"{forgotten.count(0)} of {SAMPLES} samples are never seen when the epoch begins again.",
    )


def _uses(is_restored: bool) -> list[int]:
    uses: Counter[int] = Counter()
    state = None
    for _ in range(STEPS // CRASH_EVERY):
        sampler = ResumableSampler(SAMPLES, seed=0)
        if state is not None and is_restored:
            sampler.load_state_dict(state)
        taken = 0
        while taken < CRASH_EVERY:
            for batch in sampler.counted(_loader(sampler)):
                uses.update(batch.tolist())
                taken += 1
                if taken == CRASH_EVERY:
                    break
        state = sampler.state_dict()
    return [uses[sample] for sample in ResumableSampler(SAMPLES, seed=0)]


def _loader(sampler: ResumableSampler) -> Iterator[Tensor]:
    samples = list(sampler)
    yield from (torch.tensor(samples[start : start + BATCH]) for start in range(0, len(samples), BATCH))
