import copy
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEma(nn.Module):
    def __init__(self, model, decay):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.module.requires_grad_(False)
        self.decay = decay
        self.register_buffer("num_updates", torch.tensor(0, dtype=torch.long))

    @torch.no_grad()
    def update(self, model):
        self.num_updates += 1
        n = self.num_updates.float()
        d = torch.clamp((1 + n) / (10 + n), max=self.decay)
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.copy_(d * e + (1 - d) * p)


def save(path, epoch, model, ema, optimizer):
    torch.save({"epoch": epoch, "model": model.state_dict(), "ema": ema.state_dict(),
                "optimizer": optimizer.state_dict()}, path)


def restore(path, device, model, ema, optimizer):
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    ema.load_state_dict(state["ema"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1


def main():
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4)).to(device)
    ema = ModelEma(model, decay=0.999).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = restore("last.pt", device, model, ema, optimizer) if os.path.exists("last.pt") else 0
    train = DataLoader(TensorDataset(*torch.load("train.pt")), 64, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("valid.pt")), 256)
    for epoch in range(start, 50):
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
        ema.eval()
        with torch.no_grad():
            hits = [(ema.module(x.to(device)).argmax(1).cpu() == y).float() for x, y in valid]
        print(epoch, torch.cat(hits).mean().item())
        save("last.pt", epoch, model, ema, optimizer)


if __name__ == "__main__":
    main()
