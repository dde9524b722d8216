import torch
import torch.nn as nn
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset


def train(fabric, model, optimizer, loader, epochs):
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with fabric.autocast():
                loss = nn.functional.mse_loss(model(x), y)
            fabric.backward(loss)
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
        fabric.print(epoch, loss.item())


def main():
    fabric = Fabric(accelerator="cuda", devices=1, precision="16-mixed")
    fabric.launch()
    model = nn.Sequential(nn.Linear(30, 200), nn.ReLU(), nn.Linear(200, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = fabric.setup(model, optimizer)
    dataset = TensorDataset(torch.randn(3000, 30), torch.randn(3000, 1))
    loader = fabric.setup_dataloaders(DataLoader(dataset, batch_size=64, shuffle=True))
    train(fabric, model, optimizer, loader, epochs=10)


if __name__ == "__main__":
    main()
