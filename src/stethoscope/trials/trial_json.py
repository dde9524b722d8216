"""The result of a trial as JSON (schema 1), what `diagnose` and other programs rely on.

    schema      1
    kind        "trial"
    name, command, config, seeds, steps, evaluate
    metric      {name, goal: "max"|"min", reading: "tail"|"last"|"best", unit, bar}
    complete    false where runs are missing
    margin      {value, why}: the largest difference that is called no effect
    seed_sd     the usual spread of the scores of one arm over the seeds
    distance    what all fixes together bring: an effect, or null
    changes     [{name, title, in_cure, causes: [...], classes: [...], why, alone: effect | null,
                within: effect | null, own: effect | null, edits: [...]}]; classes are "necessary",
                "sufficient", "helpful", "no effect", "harmful", "changes the yardstick",
                "cannot be applied" and "undecided"
    placebo     the same for the placebo, with what it was
    arms        [{name, changes, roles, mean, sd, runs, failed}]
    runs        [{arm, seed, ending, score, own, seconds, steps, why, tail, key}]
    notes       what to know before believing it

An effect is {better, worse, mean, low, high, p, p_adjusted, differences, seeds}: the mean paired difference
of two arms, counted so that more is better whatever the metric's goal, its 95 % interval, and the exact
sign-flip probability alone and among all effects of the trial. Numbers that are not finite are null.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from stethoscope.run.proof import KIND, SCHEMA
from stethoscope.trials.scores import failed_runs
from stethoscope.trials.trial import Change, Effect, Outcome, TrialResult, Verdict


def rendered(result: TrialResult) -> str:
    """The result as text, one object."""
    return json.dumps(_finite(as_json(result)), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def as_json(result: TrialResult) -> dict[str, Any]:
    """The result in the types of JSON."""
    trial = result.trial
    changes = {change.name: change for change in trial.changes}
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "name": trial.name,
        "command": list(trial.command),
        "config": trial.config,
        "seeds": list(trial.seeds),
        "steps": trial.steps,
        "evaluate": list(trial.evaluate),
        "metric": asdict(trial.metric),
        "complete": result.complete,
        "margin": {"value": result.margin, "why": result.margin_why},
        "seed_sd": result.seed_sd,
        "distance": _effect(result.distance),
        "changes": [_verdict(verdict, changes[verdict.change]) for verdict in result.verdicts],
        "placebo": _verdict(result.placebo, trial.placebo) if result.placebo and trial.placebo else None,
        "arms": _arms(result),
        "runs": [_run(outcome) for outcome in result.outcomes],
        "notes": list(result.notes),
    }


def _verdict(verdict: Verdict, change: Change) -> dict[str, Any]:
    return {
        "name": verdict.change,
        "title": change.title,
        "in_cure": change.in_cure,
        "causes": list(change.causes),
        "classes": [str(one) for one in verdict.classes],
        "why": verdict.why,
        "alone": _effect(verdict.alone),
        "within": _effect(verdict.within),
        "own": _effect(verdict.own),
        "edits": [{"kind": type(edit).__name__.lower(), **asdict(edit)} for edit in change.edits],
    }


def _effect(effect: Effect | None) -> dict[str, Any] | None:
    return asdict(effect) if effect is not None else None


def _arms(result: TrialResult) -> list[dict[str, Any]]:
    found = []
    failures = failed_runs(result.trial, result.outcomes)
    for arm in result.arms:
        runs = [one for one in result.outcomes if one.arm == arm.name]
        scores = [one.score for one in runs if one.score is not None and one not in failures]
        found.append(
            {
                "name": arm.name,
                "changes": list(arm.changes),
                "roles": [str(role) for role in arm.roles],
                "mean": float(np.mean(scores)) if scores else None,
                "sd": float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
                "runs": len(scores),
                "failed": sum(one in failures for one in runs),
            }
        )
    return found


def _run(outcome: Outcome) -> dict[str, Any]:
    kept = ("arm", "seed", "score", "own", "seconds", "steps", "why", "tail", "names", "key")
    return {"ending": str(outcome.ending)} | {name: getattr(outcome, name) for name in kept}


def _finite(value: Any) -> Any:
    """The value with null for every number that JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
