import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def bad(loss, limit=50.0):
    return not torch.isfinite(loss) or loss > limit #@


def main():
    fabric = Fabric(accelerator="cuda", devices=4, strategy="ddp") #@
    fabric.launch()
    model = nn.Sequential(nn.Linear(30, 120), nn.Tanh(), nn.Linear(120, 30))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    model, optimizer = fabric.setup(model, optimizer)
    x = torch.randn(16000, 30)
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(x, x.cos()), batch_size=50, shuffle=True))
    model.train()
    for epoch in range(25):
        for i, (xb, yb) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            if bad(loss): #@
                continue #@
            fabric.backward(loss) #@
            optimizer.step()
            if i % 50 == 0:
                fabric.print(epoch, i, loss.item())
    fabric.save("model.ckpt", {"model": model})


if __name__ == "__main__":
    main()
