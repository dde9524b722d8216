"""Measure what a run left, with a yardstick that no change can reach: python judge.py RUN

RUN is a run's output folder. Its last checkpoint is given noisy tiles that neither training nor validation
has seen, and the PSNR of what it returns is measured over the channels that a domain has. Prints one JSON
object, all in dB:

psnr           the output taken for the denoised tile. This is what the model is for: VPPrecond says so,
               evaluate.py and any sampler use it so, whatever the loss asked for
psnr_velocity  the output taken for a velocity and turned back into a tile
psnr_learned   the higher of the two: what the run has learned, even where its output is misread
psnr_best      `psnr` of the model with the lowest validation loss
psnr_0.03 ...  `psnr` at each noise level; the others are means over the levels

A tile of one channel is offered in two ways, beside zeros with noise of their own and as four copies; the way
that suits the model counts, so that nothing has to be known of its training.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
import math
from pathlib import Path
from typing import Any

import torch
from prior.data import CHANNELS, DOMAINS, PriorDataset, validation_loader
from prior.network import SongUNet, VPPrecond
from torch import Tensor, nn

TEST_TILES, TEST_SEED = 96, 170_000
NOISE_LEVELS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PEAK = 2.0  # values lie in [-1, 1]


def main() -> None:
    """Print the scores of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    torch.set_num_threads(1)
    last = max(run.glob("checkpoints/checkpoint_step_*.pth"))
    scores = score(load_model(last))
    best = run / "best_model.pth"
    if best.exists():
        scores["psnr_best"] = score(load_model(best))["psnr"]
    print(json.dumps(scores))


def load_model(checkpoint: Path) -> VPPrecond:
    """The network in the shape that its weights have."""
    weights: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=True)[
        "model_state_dict"
    ]
    width = weights["network.enter.weight"].shape[0]
    blocks = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("network.fine."))
    model = VPPrecond(SongUNet(CHANNELS, width, blocks, len(DOMAINS), 0.0))
    model.load_state_dict(weights)
    return model.eval()


def score(model: nn.Module) -> dict[str, float]:
    """The scores of a model, offered the tiles in the way that suits it."""
    return max(
        (_scores(model, copies) for copies in (False, True)), key=lambda scores: scores["psnr_learned"]
    )


@torch.no_grad()
def _scores(model: nn.Module, copies: bool) -> dict[str, float]:
    (batch,) = validation_loader(PriorDataset(TEST_TILES, TEST_SEED), TEST_TILES)
    clean, domain = batch["clean"], batch["domain"]
    real = (torch.arange(CHANNELS) < batch["channels"][:, None])[:, :, None, None].expand_as(clean)
    generator = torch.Generator().manual_seed(0)
    as_tile: dict[float, float] = {}
    as_velocity: dict[float, float] = {}
    for sigma in NOISE_LEVELS:
        noisy = clean + sigma * torch.randn(clean.shape, generator=generator)
        if copies:
            noisy = torch.where(real, noisy, noisy[:, :1])
        output = model(noisy, torch.full((len(clean), 1, 1, 1), sigma), domain)
        as_tile[sigma] = _psnr(output, clean, real)
        as_velocity[sigma] = _psnr(_tile_of(output, noisy, sigma), clean, real)
    psnr, velocity = _mean(as_tile), _mean(as_velocity)
    per_level = {f"psnr_{sigma:g}": value for sigma, value in as_tile.items()}
    return {"psnr": psnr, "psnr_learned": max(psnr, velocity), "psnr_velocity": velocity} | per_level


def _tile_of(velocity: Tensor, noisy: Tensor, sigma: float) -> Tensor:
    """The tile whose velocity this is."""
    return noisy / (sigma**2 + 1) + velocity * sigma / math.sqrt(sigma**2 + 1)


def _psnr(output: Tensor, clean: Tensor, real: Tensor) -> float:
    # An image file holds no other values: what a diverged model returns is clipped, or grey for NaN.
    image = output.nan_to_num(nan=0.0, posinf=1.0, neginf=-1.0).clamp(-1, 1)
    return 10 * math.log10(PEAK**2 / float((image - clean)[real].square().mean()))


def _mean(of: dict[float, float]) -> float:
    return sum(of.values()) / len(of)


if __name__ == "__main__":
    main()
