import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CFG = {"epochs": 100, "lr": 0.01, "batch_size": 64, "patience": 8}


def make_loaders():
    x, y = torch.randn(2500, 15), torch.randint(0, 2, (2500,)).float()
    return (DataLoader(TensorDataset(x[:2000], y[:2000]), CFG["batch_size"], shuffle=True),
            DataLoader(TensorDataset(x[2000:], y[2000:]), 250))


def epoch_pass(model, loader, opt=None):
    model.train(opt is not None)
    losses = []
    for x, y in loader:
        with torch.set_grad_enabled(opt is not None):
            loss = F.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            opt.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean().item()


def train(model):
    train_dl, val_dl = make_loaders()
    opt = torch.optim.SGD(model.parameters(), lr=CFG["lr"], momentum=0.9)
    best, best_state, stale = float("inf"), None, 0
    for epoch in range(CFG["epochs"]):
        loss = epoch_pass(model, train_dl, opt)  #@
        val = epoch_pass(model, val_dl)
        print(f"{epoch}\t{loss:.4f}\t{val:.4f}")
        if loss < best:  #@
            best, best_state, stale = loss, copy.deepcopy(model.state_dict()), 0  #@
        else:
            stale += 1
            if stale >= CFG["patience"]:
                break
    model.load_state_dict(best_state)
    return model


if __name__ == "__main__":
    net = train(nn.Sequential(nn.Linear(15, 32), nn.ReLU(), nn.Linear(32, 1)))
    torch.save(net.state_dict(), "final.pt")
