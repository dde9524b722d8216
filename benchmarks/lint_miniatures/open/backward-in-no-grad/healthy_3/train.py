import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def training_update(model, x, y, optimizer, ema, decay=0.99):
    with torch.enable_grad():
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
    optimizer.step()
    for e, p in zip(ema, model.parameters()):
        e.lerp_(p, 1 - decay)
    return loss.detach()


def main():
    loader = DataLoader(TensorDataset(torch.randn(900, 9), torch.randint(0, 3, (900,))), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(9, 27), nn.ReLU(), nn.Linear(27, 3))
    ema = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for x, y in loader:
            loss = training_update(model, x, y, optimizer, ema)
        print(epoch, loss.item())
    torch.save({"model": model.state_dict(), "ema": ema}, "last.pt")


if __name__ == "__main__":
    main()
