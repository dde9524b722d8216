import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def validate(model, loader):
    model.eval()
    torch.set_grad_enabled(False) #@
    correct = torch.zeros((), dtype=torch.long)
    n = 0
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum()
        n += len(y)
    model.train()
    return correct.item() / n


def main():
    x, y = torch.randn(2200, 12), torch.randint(0, 4, (2200,))
    train_loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=40, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[2000:], y[2000:]), batch_size=40)
    model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(10):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward() #@
            optimizer.step()
        print(epoch, validate(model, val_loader)) #@


if __name__ == "__main__":
    main()
