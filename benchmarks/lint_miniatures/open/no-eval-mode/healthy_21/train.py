import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Phase:
    def __init__(self, name, loader, training):
        self.name, self.loader, self.training = name, loader, training


class Regressor(nn.Module):
    def __init__(self, inputs=11, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU(),
                                 nn.Dropout(0.3), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def run_phase(phase, model, optimizer, device):
    model.train(phase.training)
    total = torch.zeros((), device=device)
    with torch.set_grad_enabled(phase.training):
        for x, y in phase.loader:
            loss = F.huber_loss(model(x.to(device)), y.to(device))
            if phase.training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.detach()
    return (total / len(phase.loader)).item()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    phases = [
        Phase("train", DataLoader(TensorDataset(*torch.load("wine_train.pt")), 64, shuffle=True,
                                  drop_last=True), True),
        Phase("valid", DataLoader(TensorDataset(*torch.load("wine_valid.pt")), 256), False),
    ]
    model = Regressor().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    best = float("inf")
    for epoch in range(100):
        results = {p.name: run_phase(p, model, optimizer, device) for p in phases}
        print(epoch, results)
        if results["valid"] < best:
            best = results["valid"]
            torch.save(model.state_dict(), "wine_best.pt")


if __name__ == "__main__":
    main()
