import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def masked_loss_sum(model, x, y):
    return nn.functional.cross_entropy(model(x), y, reduction="sum")


def main(global_batch=128, micro=16):
    ds = TensorDataset(torch.randn(2048, 12), torch.randint(0, 4, (2048,)))
    loader = DataLoader(ds, batch_size=global_batch, shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(12, 36), nn.ReLU(), nn.Linear(36, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            for xm, ym in zip(x.split(micro), y.split(micro)):
                masked_loss_sum(model, xm, ym).backward()
            for p in model.parameters():
                p.grad.div_(len(x))
            optimizer.step()
        print("epoch", epoch)
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
