import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TwoTower(nn.Module):
    def __init__(self, users=20000, items=5000, dim=64):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, u, i):
        return self.mix(self.user(u)) @ self.item(i).T


def sampled_softmax(scores):
    scores = scores.float()
    scores = scores - scores.amax(dim=1, keepdim=True).detach()
    total = scores.exp().sum(dim=1)
    return (total.log() - scores.diagonal()).mean()


def main():
    fabric = Fabric(accelerator="cuda", devices=1, precision="16-mixed")
    fabric.launch()
    fabric.seed_everything(7)
    model = TwoTower()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer = fabric.setup(model, optimizer)
    train, valid = fabric.setup_dataloaders(
        DataLoader(TensorDataset(*torch.load("clicks_train.pt")), 1024, shuffle=True, drop_last=True),
        DataLoader(TensorDataset(*torch.load("clicks_valid.pt")), 1024))
    for epoch in range(10):
        model.train()
        for u, i in train:
            optimizer.zero_grad()
            with torch.autocast("cuda", enabled=False):
                loss = sampled_softmax(model(u, i).float())
            fabric.backward(loss)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = torch.stack([sampled_softmax(model(u, i)) for u, i in valid])
        fabric.print(f"epoch {epoch} valid {losses.mean():.4f}")


if __name__ == "__main__":
    main()
