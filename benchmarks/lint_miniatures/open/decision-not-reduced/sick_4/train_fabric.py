import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = [nn.functional.mse_loss(model(x), y) for x, y in loader]
    return torch.stack(losses).mean() #@


def main():
    fabric = L.Fabric(accelerator="gpu", devices=4, strategy="ddp")
    fabric.launch()
    torch.manual_seed(0)
    x, y = torch.randn(4400, 10), torch.randn(4400, 1)
    train_loader = DataLoader(TensorDataset(x[:4000], y[:4000]), batch_size=20, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[4000:], y[4000:]), batch_size=20)
    train_loader, val_loader = fabric.setup_dataloaders(train_loader, val_loader)
    model = nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 1))
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    for epoch in range(100):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            fabric.backward(nn.functional.mse_loss(model(xb), yb))
            optimizer.step()
        val_loss = evaluate(model, val_loader) #@
        if val_loss < 0.05: #@
            fabric.print(f"target reached at epoch {epoch}")
            break #@


if __name__ == "__main__":
    main()
