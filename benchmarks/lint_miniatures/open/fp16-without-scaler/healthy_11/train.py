import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    fabric = Fabric(accelerator="cuda", devices=1, precision="16-mixed")
    fabric.launch()
    model = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model, optimizer = fabric.setup(model, optimizer)
    data = TensorDataset(torch.randn(6000, 64), torch.randint(0, 10, (6000,)))
    loader = fabric.setup_dataloaders(DataLoader(data, batch_size=64, shuffle=True))
    model.train()
    for epoch in range(25):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        fabric.print(epoch, loss.item())
    fabric.save("model.ckpt", {"model": model})


if __name__ == "__main__":
    main()
