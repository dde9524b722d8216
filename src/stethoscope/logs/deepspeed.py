"""DeepSpeed's own lines, and what DeepSpeed-Chat prints between them.

[2023-04-16 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=6, \
lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95), (0.9, 0.95)]
[...] [INFO] [timer.py:199:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=31.2, \
CurrSamplesPerSec=31.9, MemAllocated=4.34GB, MaxMemAllocated=12.1GB
[...] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss \
scale: 65536, reducing to 32768
***** Evaluating perplexity, Epoch 1/16 *****
ppl: 2.0252
steps: 10 loss: 2.3125 iter time (s): 0.123 samples/sec: 123.412
Epoch: 0, Step: 10, Rank: 0, loss = 2.3125
epoch: 0|step: 5|ppo_ep: 1|act_loss: -0.0112|cri_loss: 0.0213|unsuper_loss: 0.0
average reward score: 0.1121
Epoch 1/1 with loss 0.6591
chosen_last_scores (higher is better) : 2.9, acc (higher is better) : 0.6112

DeepSpeed's step lines carry no loss: that is printed by the script, if at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER, PLAIN_NUMBER
from stethoscope.logs._text.fields import separated, tight
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.meters import fields
from stethoscope.logs._text.reading import TextReading
from stethoscope.run.names import canonical

FORMAT = "DeepSpeed log"

_STEP = re.compile(
    r"\bstep=(?P<step>\d{1,12}), skipped=(?P<skipped>\d{1,12}), lr=\[(?P<rates>[^\]]{0,4000})\]"
)
_TIMER = re.compile(
    r"\[timer\.py:\d+:stop\]\s+(?:epoch=\d+/micro_step=\d+/global_step=(?P<step>\d{1,12})|\d+/\d+), "
    r"(?=\w*SamplesPerSec=)"
)
_POLICY = re.compile(
    r"\b[Ee]poch: \d{1,6}\s*\|\s*[Ss]tep: (?P<step>\d{1,12})\s*\|\s*(?:ppo_ep|PPO Epoch): \d{1,6}\s*\|"
)
_BATCH = re.compile(
    rf"\b[Ee]poch: \d{{1,6}}, [Ss]tep: (?P<step>\d{{1,12}}), [Rr]ank: 0, loss ?[=:] ?(?P<loss>{NUMBER})"
)
_PIPELINE = re.compile(r"\bsteps: (?P<step>\d{1,12}) (?=loss: )")
_FINE_TUNED = re.compile(
    rf"Step at (?P<step>\d{{1,12}}) with (?P<name>Perplexity|loss): (?P<value>{NUMBER})\s*"
)
_EPOCH = re.compile(rf"Epoch \d{{1,6}}/\d{{1,6}} with loss (?P<loss>{NUMBER})\s*")
_REWARD = re.compile(rf"\|?\s*[Aa]verage reward score: (?P<reward>{NUMBER})\s*\|?\s*")
# What DeepSpeed-Chat evaluates, each on a line of its own.
_EVALUATED = re.compile(rf"(?:ppl|perplexity|chosen): {NUMBER}(?:, [a-z_]{{1,30}}: {NUMBER}){{0,8}}\s*")
_SCORES = re.compile(r"chosen_last_scores \(")
_SCORE = re.compile(rf"(?P<name>\w{{1,40}}) \((?:higher|lower) is better\) : (?P<value>{NUMBER})")


def recognise(head: Head) -> float:
    """Lines of `step=N, skipped=M, lr=[...]`, or of its timer, where no script prints a loss beside them."""
    # DeepSpeed runs inside other trainers, whose own lines say more.
    sure = confidence(step_lines(head, _step_line))
    return sure * (0.5 if sure and _prints_losses(head) else 0.75)


FEWEST_LOSSES = 3  # lines with a loss that are not known here: a script's own


def _prints_losses(head: Head) -> bool:
    losses = 0
    for line, times in head.shapes:
        if "loss" in line and "scale" not in line and _step_line(line) is None:
            named = (*fields(line), *tight(line))
            losses += times if any(canonical(name) == "loss" for name, _, _ in named) else 0
    return losses >= FEWEST_LOSSES


def begin(head: Head) -> TextReading:
    """Every step line, and the losses and scores that DeepSpeed-Chat prints."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    if found := _STEP.search(line):
        values = (("skipped", *found.span("skipped")), *_rates(found))
        return StepLine(values, found.span("step"))
    if found := _TIMER.search(line):
        return StepLine(tuple(fields(line, found.end())), found.span("step") if found["step"] else None)
    if found := _POLICY.search(line):
        return StepLine(tuple(separated(line, found.end(), "|")), found.span("step"))
    if found := _PIPELINE.search(line):
        return StepLine(tuple(fields(line, found.end())), found.span("step"))
    if found := _BATCH.search(line):
        return StepLine((("loss", *found.span("loss")),), found.span("step"))
    if found := _FINE_TUNED.fullmatch(line):
        return StepLine(((found["name"], *found.span("value")),), found.span("step"))
    values = tuple(_told(line))
    return StepLine(values) if values else None


def _told(line: str) -> Iterator[Place]:
    """What is printed without a step, and so belongs to the last one."""
    if found := _EPOCH.fullmatch(line):
        yield ("train_loss_epoch", *found.span("loss"))
    elif found := _REWARD.fullmatch(line):
        yield ("reward", *found.span("reward"))
    elif _EVALUATED.fullmatch(line):
        yield from ((f"val/{name}", start, end) for name, start, end in fields(line))
    elif _SCORES.search(line):
        for found in _SCORE.finditer(line):
            yield (f"val/{found['name']}", *found.span("value"))


def _rates(found: re.Match[str]) -> Iterator[Place]:
    """One rate for each group of parameters; the first speaks for all."""
    start = found.start("rates")
    for nth, rate in enumerate(re.finditer(PLAIN_NUMBER, found["rates"])):
        yield ("lr" if nth == 0 else f"lr/{nth}", start + rate.start(), start + rate.end())
