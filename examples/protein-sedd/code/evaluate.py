"""Say how well a checkpoint restores residues: python evaluate.py CONFIG CHECKPOINT

For each share of masked residues: the mean negative log-likelihood of what was there, in nats. A model
that knows nothing but the residues has log 20 = 3.00.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import math
from pathlib import Path

import torch
from sedd.config import load_config
from sedd.data import FIRST_RESIDUE, ProteinDataset
from sedd.ema import ExponentialMovingAverage
from sedd.graph import AbsorbingGraph
from sedd.model import SEDD
from torch import Tensor

TEST_SEQUENCES, TEST_SEED = 640, 3
SHARES = (0.15, 0.5, 0.9)


def main() -> None:
    """Print one line per share of masked residues, for the averaged weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("checkpoint", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cfg = load_config(arguments.config)
    state = torch.load(arguments.checkpoint, weights_only=True)
    model = SEDD(cfg.model, cfg.tokens, cfg.data.max_length)
    ema = ExponentialMovingAverage(model, cfg.training.ema)
    ema.load_state_dict(state["ema"])
    ema.copy_to(model)
    x0 = ProteinDataset(TEST_SEQUENCES, cfg.data.max_length, TEST_SEED).rows
    print(f"{arguments.checkpoint.name} of step {state['state']['step']}")
    for share in SHARES:
        nll = masked_nll(model.eval(), AbsorbingGraph(cfg.tokens), x0, share)
        print(f"{share:.0%} masked: {nll:.4f} nats per residue")


@torch.no_grad()
def masked_nll(model: SEDD, graph: AbsorbingGraph, x0: Tensor, share: float) -> float:
    """The mean negative log-likelihood of the residues that were masked."""
    masked = torch.rand(x0.shape, generator=torch.Generator().manual_seed(0)) < share
    x = torch.where(masked, graph.mask, x0)
    sigma = torch.full((len(x0),), -math.log(1 - share))
    log_probability = model(x, sigma).log_softmax(-1)
    taken = log_probability.gather(-1, x0[..., None]).squeeze(-1)
    return float(-taken[masked & (x0 >= FIRST_RESIDUE)].mean())


if __name__ == "__main__":
    main()
