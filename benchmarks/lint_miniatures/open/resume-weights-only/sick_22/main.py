import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from checkpoint import CheckpointManager

MAX_STEPS, SAVE_EVERY = 50_000, 1_000


def infinite(loader):
    while True:
        yield from loader


def main():
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    model = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(),
                          nn.Linear(512, 64))
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=3e-4))
    train, valid = fabric.setup_dataloaders(
        DataLoader(TensorDataset(*torch.load("map_train.pt")), 256, shuffle=True),
        DataLoader(TensorDataset(*torch.load("map_valid.pt")), 512))
    manager = CheckpointManager(fabric, "runs/map")
    step = manager.restore(model)  #@
    batches = infinite(train)
    while step < MAX_STEPS:
        model.train()
        x, y = next(batches)
        optimizer.zero_grad()
        fabric.backward(F.mse_loss(model(x), y))
        optimizer.step()
        step += 1
        if step % SAVE_EVERY == 0:
            model.eval()
            with torch.no_grad():
                error = torch.stack([F.mse_loss(model(a), b) for a, b in valid]).mean()
            fabric.print(f"{step}: {error:.5f}")
            manager.save(model, optimizer, step)


if __name__ == "__main__":
    main()
