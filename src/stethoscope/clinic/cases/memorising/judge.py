"""Say what the weights that a run hands over are worth: python judge.py RUN

Prints one JSON object. `test_loss` is the cross entropy, in nats, on pictures that no run has seen, labelled
by the same people as those of training and validation; log 8 = 2.079 is guessing. `test_acc` is the share of
them that is labelled alike, `true_acc` the share whose true class is found.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from network import StripeNet
from stripes import CLASSES, draw
from torch import nn

PICTURES, SEED = 4096, 9_000_000


def main() -> None:
    """Print the scores of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    torch.set_num_threads(1)
    print(json.dumps(judge(parser.parse_args().run)))


def judge(run: Path) -> dict[str, float]:
    """Score the weights in `model.pt`."""
    width = json.loads((run / "args.json").read_text(encoding="utf-8"))["width"]
    model = StripeNet(width, CLASSES)
    model.load_state_dict(torch.load(run / "model.pt", map_location="cpu", weights_only=True))
    return scores(model)


@torch.inference_mode()
def scores(model: nn.Module) -> dict[str, float]:
    """The loss and the two shares."""
    pictures, labels = draw(PICTURES, SEED)
    _, true_classes = draw(PICTURES, SEED, guessed=0.0)  # the same pictures
    outputs = model.eval()(pictures)
    found = {
        "test_loss": nn.functional.cross_entropy(outputs, labels),
        "test_acc": (outputs.argmax(1) == labels).float().mean(),
        "true_acc": (outputs.argmax(1) == true_classes).float().mean(),
    }
    return {name: round(float(value), 5) for name, value in found.items()}


if __name__ == "__main__":
    main()
