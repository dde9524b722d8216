"""Each detector in plain words: what it does, and why the test that comes to mind first does not do."""

from __future__ import annotations

IN_WORDS = {
    "trend": """\
A line is laid through the curve, and its slope is held against the slopes that noise alone makes. The
textbook test counts every point as a witness of its own. Points of a training curve are not: the weights
move little from one step to the next, and what is logged is often a mean over a window, so a value that
is high by chance is followed by others that are high. Here the memory of the noise is measured on what
the line leaves over, and as many points are counted as there are independent ones.""",
    "peak": """\
The best of many noisy values is better than the last, always: whoever compares the two finds a decline in
every run. The question is whether a metric that never gets worse could look like this. Such a metric is
fitted (a curve that only rises), noise of the measured size and memory is laid on it again and again, and
the decline must be larger than what comes out. A curve that has wandered down and up as far before is
believed only if it falls three times as far now.""",
    "rise": """\
A loss that has left its best level for good is a divergence; one that stands above its lowest value is
every loss, since the lowest of many noisy values lies low by chance. The curve is folded into medians of
blocks, and a rise must pass three bars at once: many deviations of the noise, a share of the level, and a
share of all that had been learned.""",
    "swing": """\
A period shows as a peak in the spectrum. Noise with a memory has a spectrum that is high at long periods
without any swing in it, so the highest peak of such noise is taken for a period by a test that expects
white noise. Here the peak is held against the spectrum of noise with the memory that was measured, once
with and once without the swing in it. The descent of the curve is taken out first, and four periods are
asked for at least.""",
    "flatness": """\
"No slope was found" is not "there is no slope": with few points or much noise no test finds anything. To
call a curve flat, the interval of its slope must be narrow, so narrow that even its steeper end moves the
curve by less than 2 %. The errors counted here are therefore curves that do move, and are called flat.""",
    "rising run": """\
A validation of five values has too few for a slope. What can be counted is order: values in random order
rise k times in a row up to the last with a chance of one in (k + 1)!, for each place where the rise may
begin. It holds for any noise that does not remember; where it does, rises are followed by rises, and that
is the error left below.""",
    "step up": """\
A level that goes up at once and stays, as after a resume that lost something. It is told from noise by
the blocks before it, from a ramp by their flatness, and from a spike by the blocks after it. Guard asks
it at every window of a live run, so it has to be almost never wrong.""",
    "phase folding": """\
Data that come in the same order every epoch print the same shape on the loss every epoch. Folded at the
length of an epoch, an analysis of variance would compare the phases; but slow noise fills a whole phase
with one accident, which that analysis takes for a shape. Here the epochs are turned round against each
other: without a shared shape nothing changes by that, and the noise keeps its memory while it is turned.""",
    "confounding": """\
A loss rises while a curriculum makes its task harder. A line through it rises, and says nothing about the
model. The closest curve that only follows the difficulty is fitted first; what counts is a rise that goes
on where the difficulty does not.""",
    "replay": """\
After a resume some steps are trained twice. Where the batches are the same, their noise is shared, and
the two stretches are correlated beyond their common level. Both fall together anyway, so the level is
taken away before the correlation is computed.""",
    "double softmax floor": """\
A cross entropy that is given probabilities in place of logits cannot fall below a number that depends on
the number of classes alone. A healthy loss may rest at the same level by accident, so the level must also
fit the accuracy that was logged.""",
    "collapse": """\
For fewer than twelve evaluations: the last ones all lie far below all of those before. The chance of that
order is counted, and the drop must be large besides, since five values in random order do it now and
then.""",
    "spike": """\
A value far above a running level, in units of a running deviation, both of which a spike cannot drag
along. By itself it asks for nothing but distance, so noise with a heavy tail has spikes of its own: they
are real, and no fault.""",
    "spike beyond its tail": """\
What the rule on spikes reports: a spike must be too large for the tail that the series itself shows. A
bar in standard deviations promises a rate under normal noise only; losses of single batches are skewed,
and pass any such bar. The tail is fitted to quantiles, which a single spike does not move.""",
    "lasting spike": """\
What a spike left behind. The median of the values that follow must stand above the level for as long as
the question is asked, so one bad batch is never a lasting one.""",
    "schedule family": """\
Which curve a learning rate follows. Every family is fitted, and a criterion that punishes parameters
chooses; no fit counts as better than the digits in which the rate was printed. The error counted is a
family that is taken for another.""",
    "schedule speed": """\
Whether a schedule was given a length other than that of the run: a cosine that ends at a quarter, or is
still near its top at the end.""",
    "rate jump": """\
A rate that leaps up in mid-run, as when a schedule begins anew at a resume. Warm restarts leap too, at
regular distances and from the bottom: these are cycles, and no finding.""",
    "hazard of the scaler": """\
Whether overflows become rarer as the loss scale falls. If they do, they happen in the backward pass, and
the scaler will find its level; if not, no scale helps. It is a logistic regression of overflow on the
scale, with few events: five at least.""",
    "decline of the scaler": """\
Whether overflows come faster than doubling can repair. There is a rate at which the two are in balance;
the test asks whether the count of overflows lies surely above it. The level of the scale plays no part: a
high scale is good news.""",
}
