import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from settings import load_config


def build(width, layers):
    blocks = [nn.Linear(40, width), nn.GELU()]
    for _ in range(layers):
        blocks += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*blocks, nn.Linear(width, 10))


def main():
    cfg = load_config("config.yaml")
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    model = build(**cfg["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["optim"]["lr"],
                                  weight_decay=cfg["optim"]["weight_decay"])  #@
    model, optimizer = fabric.setup(model, optimizer)
    options = {"batch_size": cfg["data"]["batch_size"], "num_workers": cfg["data"]["workers"]}
    train, valid = fabric.setup_dataloaders(
        DataLoader(TensorDataset(*torch.load("keystroke_train.pt")), shuffle=True, **options),
        DataLoader(TensorDataset(*torch.load("keystroke_valid.pt")), **options))
    for epoch in range(cfg["optim"]["epochs"]):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            fabric.backward(F.cross_entropy(model(x), y))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = torch.cat([(model(x).argmax(1) == y).float() for x, y in valid])
        fabric.print(f"{epoch}: {hits.mean():.4f}")


if __name__ == "__main__":
    main()
