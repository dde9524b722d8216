import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def micro_batches(x, y, n):
    return zip(x.chunk(n), y.chunk(n))


def train_batch(model, optimizer, x, y, n_micro):
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for xm, ym in micro_batches(x, y, n_micro):
        loss = nn.functional.mse_loss(model(xm), ym) #@
        loss.backward() #@
        total += loss.detach() / n_micro
    optimizer.step() #@
    return total


def main():
    with open("train.yaml") as f:
        cfg = yaml.safe_load(f)
    ds = TensorDataset(torch.randn(2560, 9), torch.randn(2560, 1))
    loader = DataLoader(ds, batch_size=cfg["batch_size"], shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(9, 45), nn.ReLU(), nn.Linear(45, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        model.train()
        losses = [train_batch(model, optimizer, x, y, cfg["micro_batches"]) for x, y in loader]
        print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
