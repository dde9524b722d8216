"""Measure what a run left, with a yardstick that no change can reach: python judge.py RUN

RUN is an experiment's folder. The averaged weights that it saved last enlarge images that neither training
nor validation has seen, whole and at full size. Prints one JSON object: PSNR in dB, SSIM, and the iteration.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from nanosr.arch import NanoSR
from nanosr.data import ProceduralPairs
from nanosr.metrics import Image, calculate_psnr, calculate_ssim
from nanosr.options import ValDataset, load_options
from safetensors.torch import load_file
from torch import Tensor, nn

IMAGES = ValDataset("Drawn_Test", "proceduralpairs", image_seed=500_000, num_images=8, image_size=192)
CROP_BORDER = 4


def main() -> None:
    """Print the scores of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    torch.set_num_threads(1)
    network, iteration = load_network(run)
    print(json.dumps(scores(network) | {"iteration": iteration}))


def load_network(run: Path) -> tuple[NanoSR, int]:
    """The network as the run's own settings shape it, with the averaged weights of its last checkpoint."""
    (settings,) = run.glob("*.yml")
    opt = load_options(settings)
    shape = opt.network_g
    network = NanoSR(opt.scale, shape.num_feat, shape.num_blocks, shape.upsampler_alpha)
    checkpoints = {
        int(file.stem.rpartition("_")[2]): file for file in run.glob("models/net_g_ema_*.safetensors")
    }
    last = max(checkpoints)
    network.load_state_dict(load_file(checkpoints[last]))
    return network.eval(), last


@torch.inference_mode()
def scores(enlarge: nn.Module) -> dict[str, float]:
    """PSNR and SSIM of whole enlarged images, in 8 bits."""
    psnr, ssim = [], []
    for lq, gt in ProceduralPairs(IMAGES, scale=2).pairs:
        output, truth = _to_image(enlarge(lq.unsqueeze(0))), _to_image(gt.unsqueeze(0))
        psnr.append(calculate_psnr(output, truth, CROP_BORDER))
        ssim.append(calculate_ssim(output, truth, CROP_BORDER))
    return {"val/psnr": float(np.mean(psnr)), "val/ssim": float(np.mean(ssim))}


def _to_image(tensor: Tensor) -> Image:
    # A value that is not a number has no colour: black, as image writers make it.
    image = tensor.squeeze(0).nan_to_num(0).clamp(0, 1).mul(255).round().byte().permute(1, 2, 0)
    return np.asarray(image.numpy(), dtype=np.uint8)


if __name__ == "__main__":
    main()
