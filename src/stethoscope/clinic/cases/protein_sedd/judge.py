"""Say what a run has learned, at a difficulty that does not change: python judge.py RUN

Prints one JSON object. `nll_ratio` is the mean negative log-likelihood of masked residues over three shares
of masking, divided by log 20: 1 is guessing. It is measured for the averaged weights of the last checkpoint;
`best_nll_ratio` for those that the run itself calls best. `generated` is the share of neighbours in sequences
grown from nothing but masks that one of the families likes; true sequences have `true_sequences`.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from evaluate import SHARES, TEST_SEED, TEST_SEQUENCES, masked_nll
from sedd.config import load_config
from sedd.data import FAMILIES, FAMILY_SEED, FIRST_RESIDUE, RESIDUES, ProteinDataset, _family
from sedd.ema import ExponentialMovingAverage
from sedd.graph import AbsorbingGraph
from sedd.model import SEDD
from torch import Tensor

CHANCE = math.log(len(RESIDUES))
GROWN = 256  # sequences
STEPS = 32  # from all masks to none


def main() -> None:
    """Print what the last checkpoint of a run is worth, and what its best is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    torch.set_num_threads(1)
    print(json.dumps(judge(parser.parse_args().run)))


def judge(run: Path) -> dict[str, float]:
    """Score the last checkpoint of a run, and its best."""
    torch.manual_seed(0)
    checkpoints = sorted((run / "checkpoints").glob("checkpoint_step_*.pth"), key=_step)
    cfg = load_config(run / "config.yaml")
    x0 = ProteinDataset(TEST_SEQUENCES, cfg.data.max_length, TEST_SEED).rows
    graph = AbsorbingGraph(cfg.tokens)
    model = SEDD(cfg.model, cfg.tokens, cfg.data.max_length).eval()
    scores = {}
    for name, file in (("best_", run / "checkpoints" / "best_checkpoint.pth"), ("", checkpoints[-1])):
        ema = ExponentialMovingAverage(model, cfg.training.ema)
        ema.load_state_dict(torch.load(file, map_location="cpu", weights_only=True)["ema"])
        ema.copy_to(model)
        nll = [masked_nll(model, graph, x0, share) for share in SHARES]
        scores[f"{name}nll_ratio"] = sum(nll) / len(nll) / CHANCE
    scores |= {f"nll_at_{share:.0%}": value for share, value in zip(SHARES, nll, strict=True)}
    scores["generated"] = liked(grow(model, graph, cfg.data.max_length))
    scores["true_sequences"] = liked(x0)
    return {name: round(value, 5) for name, value in scores.items()}


@torch.no_grad()
def grow(model: SEDD, graph: AbsorbingGraph, length: int) -> Tensor:
    """Turn rows of masks into sequences: at every step some masks become what the model expects."""
    x = torch.full((GROWN, length), graph.mask)
    for step in range(STEPS, 0, -1):
        # Before the step, `step / STEPS` of the tokens are masked, all but a thousandth at first.
        sigma = torch.full((GROWN,), -math.log1p(-0.999 * step / STEPS))
        chances = model(x, sigma).softmax(-1)
        drawn = torch.multinomial(chances.flatten(0, 1), 1).view_as(x)
        shown = (x == graph.mask) & (torch.rand(x.shape) < 1 / step)
        x = torch.where(shown, drawn, x)
    return x


def liked(rows: Tensor) -> float:
    """The share of neighbouring residues of which some family likes the second after the first."""
    families = [_family(np.random.default_rng((FAMILY_SEED, index)))[0] for index in range(FAMILIES)]
    known = {
        (first, int(second))
        for followers in families
        for first, row in enumerate(followers)
        for second in row
    }
    residues = (rows - FIRST_RESIDUE).tolist()
    pairs = [pair for row in residues for pair in pairwise(row) if min(pair) >= 0]
    return sum(pair in known for pair in pairs) / max(1, len(pairs))


def _step(file: Path) -> int:
    return int(file.stem.rpartition("_")[2])


if __name__ == "__main__":
    main()
