"""The half-precision cases of the clinic at GPU size: sick and cured, in float16 and in bfloat16.

    python benchmarks/clinic_on_gpu.py --seeds 3 --jobs 12

Every variant is trained on every seed. The score is the clinic's own, measured in float32 by the untouched
evaluator; the loss scale is read from the run's log, as `stethoscope diagnose` reads it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from stethoscope.clinic.as_trial import as_trial
from stethoscope.clinic.case import Case, Role
from stethoscope.clinic.cases.deblur_fft.cure import NOTHING_TO_SCALE, STEP_IN_HALF, VALIDATION_IN_HALF
from stethoscope.clinic.cases.nano_sr.case import BF16
from stethoscope.clinic.catalogue import case_called, size_called
from stethoscope.clinic.edit import Edit, copy_files
from stethoscope.read import read
from stethoscope.trials.edits import edited
from stethoscope.trials.running import Job, perform
from stethoscope.trials.trial import Change, Outcome, Replacement

DEBLUR_BF16 = (STEP_IN_HALF, VALIDATION_IN_HALF, NOTHING_TO_SCALE)
IN_BF16 = {"nano-sr": (BF16,), "deblur-fft": DEBLUR_BF16, "deblur-fft-overflow": DEBLUR_BF16}
RUN_SECONDS = 560.0


@dataclass(frozen=True, slots=True)
class Trained:
    """One run: its variant, what came out, and the loss scale that its log tells of."""

    case: str
    variant: str
    seed: int
    outcome: Outcome
    scales: tuple[float, ...]


def variants(case: Case) -> dict[str, tuple[Change, ...]]:
    """Sick and cured, each in float16 and in bfloat16."""
    cures = [change for change in case.changes if change.role is Role.CURE]
    cured = tuple(_change(change.name, change.edits) for change in cures)
    bf16 = _change("bfloat16", IN_BF16[case.name])
    return {
        "sick, float16": (),
        "sick, bfloat16": (bf16,),
        "cured, float16": cured,
        "cured, bfloat16": (*cured, bf16),
    }


def _change(name: str, edits: Iterable[Edit]) -> Change:
    return Change(name, tuple(Replacement(edit.file, edit.old, edit.to) for edit in edits))


def trained(
    case: Case, size: str, variant: str, changes: tuple[Change, ...], seed: int, work: Path
) -> Trained:
    """Train one variant on one seed in a copy of its own."""
    trial = as_trial(case, size_called(case, size), work, (seed,))
    snapshot = work / case.name

    def source(file: str) -> bytes | None:
        path = snapshot / file
        return path.read_bytes() if path.is_file() else None

    base = edited(source, trial.command, trial.base, ())
    made = edited(source, trial.command, trial.base, changes)
    key = hashlib.sha256(f"{case.name} {variant} {seed}".encode()).hexdigest()[:16]
    job = Job(
        variant,
        seed,
        key,
        made.command,
        trial.metric,
        made.files,
        made.variables,
        trial.run,
        trial.evaluate,
        base.files,
        base.variables,
        {"seed": str(seed)},
        seconds=RUN_SECONDS,
        keep=True,
    )
    outcome = perform(job, snapshot, work / "runs", threading.Event())
    return Trained(case.name, variant, seed, outcome, _scales(work / "runs" / key / "project" / case.run))


def _scales(run: Path) -> tuple[float, ...]:
    if not run.is_dir():
        return ()
    for name, series in read(run).series.items():
        if "scale" in name.lower():
            return tuple(float(value) for value in series.values if math.isfinite(value))
    return ()


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", default=",".join(IN_BF16))
    parser.add_argument("--size", default="gpu", choices=("ci", "small", "gpu"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--json", help="a file for every run")
    asked = parser.parse_args()
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"torch {torch.__version__}, {where}, {time.strftime('%Y-%m-%d')}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        going = []
        for name in asked.cases.split(","):
            case = case_called(name)
            copy_files(case.project, case.sources, Path(folder) / case.name)
            for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
                for variant, changes in variants(case).items():
                    going.append(pool.submit(trained, case, asked.size, variant, changes, seed, Path(folder)))
        every = [one.result() for one in going]
    for name in asked.cases.split(","):
        _print(name, [one for one in every if one.case == name])
    if asked.json:
        Path(asked.json).write_text(json.dumps([_as_json(one) for one in every], indent=1), encoding="utf-8")


def _print(name: str, runs: list[Trained]) -> None:
    print(f"\n{name}\n| variant | score, median (each) | loss scale: first, lowest, last | seconds |")
    print("|---|---|---|---|")
    for variant in dict.fromkeys(one.variant for one in runs):
        chosen = [one for one in runs if one.variant == variant]
        seconds = statistics.median(one.outcome.seconds for one in chosen)
        print(f"| {variant} | {_scores(chosen)} | {_scale(chosen)} | {seconds:.0f} |")


def _scores(runs: list[Trained]) -> str:
    scores = [one.outcome.score for one in runs if one.outcome.score is not None]
    others = {f"{one.outcome.ending}: {one.outcome.why}" for one in runs if one.outcome.score is None}
    told = (
        [f"{statistics.median(scores):.3f} ({', '.join(f'{score:.3f}' for score in scores)})"]
        if scores
        else []
    )
    return "; ".join([*told, *sorted(others)])


def _scale(runs: list[Trained]) -> str:
    logged = [one.scales for one in runs if one.scales]
    if not logged:
        return "not logged"
    picks = (
        [scales[0] for scales in logged],
        [min(scales) for scales in logged],
        [scales[-1] for scales in logged],
    )
    return ", ".join(f"{statistics.median(values):.3g}" for values in picks)


def _as_json(one: Trained) -> dict[str, object]:
    return {
        "case": one.case,
        "variant": one.variant,
        "seed": one.seed,
        "ending": one.outcome.ending,
        "why": one.outcome.why,
        "score": one.outcome.score,
        "seconds": one.outcome.seconds,
        "scales": one.scales,
        "tail": one.outcome.tail,
    }


if __name__ == "__main__":
    main()
