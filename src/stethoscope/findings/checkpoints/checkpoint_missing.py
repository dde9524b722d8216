"""A checkpoint that the settings ask for does not exist.

## What it checks
Settings such as `resume_state`, `pretrain_network_g` or `resume_from_checkpoint` that name a checkpoint file
or folder. The path is looked for from the run's folder, the settings file, the source and the repository.

## Why it matters
Some programs stop. Others train on from random weights and say nothing: a fine-tuning becomes a training
from scratch, with a learning rate far too low for it.

## When it is harmless
`null`, `auto` and `latest`, names on a model hub and addresses are not paths. A path of another machine
cannot be judged here, and is not. A run that has taken steps with the setting had its checkpoint then, or
did without; that it is gone since is only noted.

## References
- `torch.load`, `safetensors`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.checkpoints_asked import AskedCheckpoint, CheckpointsAsked
from stethoscope.signals.settings import Settings

RULE = Rule(code="CKP101", since="0.1", severity=Severity.WARNING)


def examine(asked: CheckpointsAsked, settings: Settings) -> Iterator[Finding]:
    """Fire on each checkpoint that is asked for and not there."""
    unknown = [one for one in asked.checkpoints if one.exists is None]
    if unknown and len(unknown) == len(asked.checkpoints):
        raise InsufficientData(f"{unknown[0].path} is a path of another machine or folder")
    for one in asked.checkpoints:
        if one.exists is False:
            yield _finding(one, settings, asked.has_run)


def _finding(one: AskedCheckpoint, settings: Settings, has_run: bool) -> Finding:
    gone_since = settings.trained_with(one.setting)
    message = (
        f"{one.setting.dotted} asks for {one.path}, which is not there (looked in {', '.join(one.looked_in)})"
    )
    if gone_since:
        message += "; the run took steps all the same"
    is_note = gone_since or not has_run
    return Finding(
        one.setting.where,
        message,
        evidence={"key": one.setting.dotted, "path": one.path, "took_steps_with_it": gone_since},
        strength=0.0 if is_note else 1.0,  # a note is no evidence of harm
        severity=Severity.NOTE if is_note else None,
    )
