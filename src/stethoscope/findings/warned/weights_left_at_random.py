"""Weights that a checkpoint should have given were left at random.

## What it checks
What a trainer says when it loads a checkpoint: the names of weights that the checkpoint did not have, or had
in another shape. Those of a new head are expected; others are counted.

## Why it matters
A network whose body is left at random trains, slowly, as if from scratch. It happens where names have another
prefix, where the wrong class is made, or where `strict=False` hides that nothing fits.

## When it is harmless
A new head on a trained body, which is what tuning is; adapters that begin at random; buffers that are
computed (position ids, masks, inverse frequencies). Nothing is said of those.

## References
- torch.nn.Module.load_state_dict, strict
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Where
from stethoscope.signals.announcements import Announcements

RULE = Rule(code="WRN102", since="0.4", severity=Severity.WARNING)

SHOWN = 3
FEWEST = 3  # names that are no head's: fewer may be one layer that is new on purpose
_LISTED = re.compile(r"newly initialized[^:]*:|missing_keys=|[Mm]issing keys[^:=]*[:=]")
_NAME = re.compile(r"[A-Za-z_][\w]*(?:\.[\w]+)+")
# What is new where a trained network is given another task, and what is not learned at all.
_EXPECTED = re.compile(
    r"(?:^|[._])(?:classifier|score|heads?|lm_head|mlm_head|qa_outputs|pooler|cls|fc|last_linear|logits?|decode_head"
    r"|dense|out_proj|projector|proj_out|pre_classifier|class_labels_classifier|bbox_predictor|lora_\w+|adapters?|prompt\w*"
    r"|position_ids|inv_freq|attn_mask|relative_position_index|num_batches_tracked|masked_bias|teacher\w*|ema\w*"
    r"|discriminator\w*|loss\w*|criterion\w*|lpips\w*|vgg\w*)(?:[._]|$)",
    re.IGNORECASE,
)


def examine(said: Announcements) -> Iterator[Finding]:
    """Report the first load that leaves more than a head at random."""
    for event in said.of(EventKind.FRAMEWORK_WARNING):
        listed = _LISTED.search(event.message)
        if listed is None:
            continue
        told = event.message[listed.end() :].partition("unexpected_keys")[0]
        names = [name for name in _NAME.findall(told) if not _EXPECTED.search(name)]
        if len(names) >= FEWEST:
            yield Finding(
                Where(event.file, event.line),
                f"a load left weights at random that are no head's: {', '.join(names[:SHOWN])} and more",
                {"names": names[:SHOWN], "counted": len(names)},
            )
            return
