import sys
import tomllib

import torch

from net import TileNet
from tiles import TileStore
from trainer import DiffusionTrainer

if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else "tile.toml", "rb") as f:
        cfg = tomllib.load(f)
    torch.manual_seed(cfg["seed"])
    train = TileStore(cfg["tiles"]["train"], 0, cfg["tiles"]["size"])
    val = TileStore(cfg["tiles"]["val"], 9000, cfg["tiles"]["size"])
    trainer = DiffusionTrainer(TileNet(), cfg, val)
    trainer.fit(train.stream(cfg["batch"]))
