"""A training that takes milliseconds: a weight walks towards its target, the standard library alone.

It is sick by a rate that is far too small and by a target that is half of what it should be; the settings
`note` and `colour` are read and do nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stethoscope.trials import Change, Metric, NewValue, Trial

TRAIN = """\
import json, os, random, sys

config, seed, steps = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
if os.environ.get("COUNTED"):
    with open(os.environ["COUNTED"], "a") as counted:
        counted.write(f"{seed}\\n")
rng = random.Random(seed)
weight = rng.gauss(0, 0.2)
target = 3.0 * config["scale"]
with open("metrics.csv", "w") as log:
    log.write("step,loss,val/psnr\\n")
    for step in range(steps):
        weight -= config["lr"] * (2 * (weight - target) + 0.1 * rng.gauss(0, 1))
        score = 20 - (weight - 3.0) ** 2 + 0.05 * rng.gauss(0, 1)
        log.write(f"{step},{(weight - target) ** 2},{score}\\n")
"""
SETTINGS = {"lr": 0.001, "scale": 0.5, "note": "first", "colour": "red"}
PYTHON = (sys.executable, "-I", "-S")


def lay_out(project: Path, train: str = TRAIN) -> Path:
    """Write the project."""
    project.mkdir(parents=True, exist_ok=True)
    (project / "train.py").write_text(train, encoding="utf-8")
    (project / "cfg.json").write_text(json.dumps(SETTINGS, indent=2) + "\n", encoding="utf-8")
    return project


def toy_trial(project: Path, *keys: str, seeds: int = 6, **given: object) -> Trial:
    """A trial of the settings named, on a few seeds."""
    values = {"lr": "0.1", "scale": "1.0", "note": '"second"', "colour": '"blue"'}
    changes = tuple(Change(key, (NewValue(key, values[key]),)) for key in keys)
    settled: dict[str, object] = {
        "command": (*PYTHON, "train.py", "{config}", "{seed}", "30"),
        "metric": Metric("val/psnr", "max"),
        "folder": project,
        "seeds": tuple(range(1, seeds + 1)),
        "config": "cfg.json",
    }
    return Trial("toy", project, changes=changes, **(settled | given))
