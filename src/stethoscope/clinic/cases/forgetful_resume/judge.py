"""Say how far a run's last checkpoint is from the truth: python judge.py RUN

Prints one JSON object. `excess` is what the model needs more than the language itself, in nats per character,
on a text that no run has seen: 0 is all that can be known. `test_loss` is what it needs.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
import yaml
from babble import LETTERS, encode, speak
from model import NextLetter, windows
from torch import nn

WORDS, SEED = 10_000, 9


def main() -> None:
    """Print the scores of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    torch.set_num_threads(1)
    print(json.dumps(judge(parser.parse_args().run)))


def judge(run: Path) -> dict[str, float]:
    """Score `last.pt`."""
    cfg = yaml.safe_load((run / "settings.yaml").read_text(encoding="utf-8"))
    model = NextLetter(len(LETTERS), **cfg["model"])
    checkpoint = torch.load(run / "last.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    return scores(model) | {"step": checkpoint["step"]}


@torch.inference_mode()
def scores(model: NextLetter) -> dict[str, float]:
    """What the model needs, and what of that was not necessary."""
    text, needed = speak(WORDS, SEED)
    letters = encode(text)
    before, target = windows(letters, torch.arange(model.context, len(letters)), model.context)
    loss = float(nn.functional.cross_entropy(model(before), target))
    return {"excess": round(loss - needed, 5), "test_loss": round(loss, 5)}


if __name__ == "__main__":
    main()
