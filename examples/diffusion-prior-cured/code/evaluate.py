"""Say how well a trained prior removes noise: python evaluate.py results/prior/best_model.pth run.sh

For each noise level: the PSNR of the model's output, and that of the noisy tile it was given.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import math
import re
from pathlib import Path

import torch
from prior.data import CHANNELS, DOMAINS, PriorDataset, validation_loader
from prior.network import SongUNet, VPPrecond
from torch import Tensor

TEST_TILES, TEST_SEED = 192, 170_000
NOISE_LEVELS = (0.05, 0.3, 1.0)
PEAK = 2.0  # values lie in [-1, 1]


def main() -> None:
    """Print one line per noise level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("launcher", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(arguments.checkpoint, arguments.launcher)
    for sigma in NOISE_LEVELS:
        denoised, noisy = denoising_psnr(model, sigma)
        print(f"sigma {sigma:g}: output {denoised:.2f} dB, noisy input {noisy:.2f} dB")


def load_model(checkpoint: Path, launcher: Path) -> VPPrecond:
    """The network as the launcher sizes it, with the weights of the checkpoint."""
    sizes = dict(re.findall(r'^(MODEL_CHANNELS|NUM_BLOCKS)="(\d+)"', launcher.read_text(), re.MULTILINE))
    network = SongUNet(CHANNELS, int(sizes["MODEL_CHANNELS"]), int(sizes["NUM_BLOCKS"]), len(DOMAINS), 0.0)
    model = VPPrecond(network)
    model.load_state_dict(torch.load(checkpoint, weights_only=True)["model_state_dict"])
    return model.eval()


@torch.no_grad()
def denoising_psnr(model: VPPrecond, sigma: float) -> tuple[float, float]:
    """PSNR of the denoised and of the noisy tiles, over the channels that a domain has."""
    generator = torch.Generator().manual_seed(0)
    errors: list[Tensor] = []
    noises: list[Tensor] = []
    for batch in validation_loader(PriorDataset(TEST_TILES, TEST_SEED), 32):
        clean = batch["clean"]
        noisy = clean + sigma * torch.randn(clean.shape, generator=generator)
        output = model(noisy, torch.full((len(clean), 1, 1, 1), sigma), batch["domain"])
        real = (torch.arange(CHANNELS) < batch["channels"][:, None])[:, :, None, None].expand_as(clean)
        errors.append((output - clean)[real])
        noises.append((noisy - clean)[real])
    return _psnr(torch.cat(errors)), _psnr(torch.cat(noises))


def _psnr(error: Tensor) -> float:
    return 10 * math.log10(PEAK**2 / float(error.square().mean()))


if __name__ == "__main__":
    main()
