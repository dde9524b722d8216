"""Say how well the last weights of a run read bells: python judge.py RUN

Prints one JSON object. `error` is the mean squared error on bells that no run has heard, as a share of what
saying the mean costs: 0 is perfect. More than 1, and what is not a number, counts as 1: a reader that is
worse than none is put away, however much worse it is. `reached` is the step of the weights.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import torch
from ringing import ring
from torch import nn
from transformer import BellReader

BELLS, SEED = 4096, 777_777
WORTHLESS = 1.0


def main() -> None:
    """Print the scores of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    torch.set_num_threads(1)
    print(json.dumps(judge(parser.parse_args().run)))


def judge(run: Path) -> dict[str, float]:
    """Score the weights that were saved last."""
    model = tomllib.loads((run / "bells.toml").read_text(encoding="utf-8"))["model"]
    reader = BellReader(model["width"], model["heads"], model["blocks"])
    last = max(run.glob("step_*.pt"))
    reader.load_state_dict(torch.load(last, map_location="cpu", weights_only=True))
    return {"error": error_of(reader), "reached": int(last.stem.rpartition("_")[2])}


@torch.inference_mode()
def error_of(reader: nn.Module) -> float:
    """The share of the variance that the reader leaves unexplained, at most all of it."""
    samples, truth = ring(BELLS, torch.Generator().manual_seed(SEED))
    told = reader.eval()(samples).double()
    error = float((told - truth).square().mean() / (truth - truth.mean(0)).square().mean())
    return round(error, 5) if error < WORTHLESS else WORTHLESS


if __name__ == "__main__":
    main()
