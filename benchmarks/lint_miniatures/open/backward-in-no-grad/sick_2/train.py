import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad() #@
def compute_loss(model, batch): #@
    x, y = batch
    logits = model(x) #@
    return nn.functional.cross_entropy(logits, y)


def evaluate(model, loader):
    model.eval()
    total = sum(compute_loss(model, b) for b in loader)
    return (total / len(loader)).item()


def main():
    x, y = torch.randn(1200, 15), torch.randint(0, 3, (1200,))
    train_loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=20, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1000:], y[1000:]), batch_size=20)
    model = nn.Sequential(nn.Linear(15, 45), nn.ReLU(), nn.Linear(45, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            loss = compute_loss(model, batch) #@
            loss.backward() #@
            optimizer.step()
        print(epoch, evaluate(model, val_loader))


if __name__ == "__main__":
    main()
