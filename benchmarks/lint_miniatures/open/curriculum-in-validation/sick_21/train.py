import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Seq2SeqForecaster(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = nn.GRU(1, width, batch_first=True)
        self.cell = nn.GRUCell(1, width)
        self.head = nn.Linear(width, 1)

    def forward(self, past, steps):
        _, h = self.encoder(past)
        h, y, out = h[0], past[:, -1], []
        for _ in range(steps):
            h = self.cell(y, h)
            y = self.head(h)
            out.append(y)
        return torch.stack(out, dim=1)


def current_horizon(epoch, args):
    return min(args.horizon, args.start_horizon + epoch // args.grow_every)


def run_epoch(model, loader, epoch, args, device, optimizer=None):
    training = optimizer is not None
    model.train(training)
    steps = current_horizon(epoch, args)  #@
    total = torch.zeros((), device=device)
    with torch.set_grad_enabled(training):
        for past, future in loader:
            past, future = past.to(device), future[:, :steps].to(device)  #@
            loss = F.l1_loss(model(past, steps), future)  #@
            if training:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            total += loss.detach()
    return (total / len(loader)).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--horizon", type=int, default=48)
    p.add_argument("--start-horizon", type=int, default=4)
    p.add_argument("--grow-every", type=int, default=2)
    p.add_argument("--epochs", type=int, default=120)
    p.add_argument("--width", type=int, default=64)
    args = p.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Seq2SeqForecaster(args.width).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("load_train.pt")), 64, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("load_valid.pt")), 256)
    for epoch in range(args.epochs):
        tr = run_epoch(model, train, epoch, args, device, optimizer)
        va = run_epoch(model, valid, epoch, args, device)  #@
        print(f"{epoch} train {tr:.4f} valid {va:.4f}")


if __name__ == "__main__":
    main()
