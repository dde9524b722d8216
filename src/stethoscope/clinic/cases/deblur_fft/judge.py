"""Say how well a run deblurs, in float32: python judge.py RUN

Prints one JSON object. `val_psnr` is the mean score, in dB, of images that the run was not trained on, for
the weights that it handed over last; `blurred` is that of the images as they were given. What is not a number
in an image is shown black. The network is built to the size of the weights.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
from pathlib import Path

import torch
from deblur.arch import FFTMini
from deblur.data import DrawnPairs
from deblur.training import psnr
from torch import Tensor

IMAGES, IMAGE_SIZE, SEED = 32, 64, 9_000  # the first of them are what the run itself validates on


def main() -> None:
    """Print the score of the last weights that a run kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    torch.set_num_threads(1)
    print(json.dumps(judge(parser.parse_args().run)))


def judge(run: Path) -> dict[str, float]:
    """Score the last weights that a run kept."""
    kept = sorted((run / "checkpoints").glob("best_model_epoch*.pt"), key=_epoch)
    weights = torch.load(kept[-1], map_location="cpu", weights_only=True)
    model = built_for(weights).eval()
    model.load_state_dict(weights)
    pairs = DrawnPairs(IMAGES, IMAGE_SIZE, SEED).pairs
    blurred, sharp = (torch.stack(images) for images in zip(*pairs, strict=True))
    with torch.no_grad():
        restored = torch.nan_to_num(model(blurred)["sharp_image"], nan=0.0)
    return {
        "val_psnr": round(float(psnr(restored, sharp)), 4),
        "blurred": round(float(psnr(blurred, sharp)), 4),
        "epoch": _epoch(kept[-1]),
    }


def built_for(weights: dict[str, Tensor]) -> FFTMini:
    """A network of the size that `weights` have."""
    dim = len(weights["enter.weight"])
    blocks = {name.split(".")[1] for name in weights if name.startswith("blocks.")}
    frequencies = weights["blocks.0.ffn.frequencies"]
    return FFTMini(dim, len(blocks), len(frequencies) // (2 * dim), frequencies.shape[-2])


def _epoch(file: Path) -> int:
    return int(file.stem.removeprefix("best_model_epoch"))


if __name__ == "__main__":
    main()
