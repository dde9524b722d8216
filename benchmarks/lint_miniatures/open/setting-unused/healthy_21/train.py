import argparse
import inspect

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def add_optimizer_options(parser):
    group = parser.add_argument_group("optimizer")
    group.add_argument("--lr", type=float, default=1e-3)
    group.add_argument("--weight-decay", type=float, default=0.01)
    group.add_argument("--eps", type=float, default=1e-8)
    return parser


def take(fn, options):
    names = inspect.signature(fn).parameters
    return {k: v for k, v in vars(options).items() if k in names}


class Encoder(nn.Module):
    def __init__(self, width=128, heads=4, layers=3, dropout=0.1):
        super().__init__()
        self.embed = nn.Linear(9, width)
        self.position = nn.Parameter(torch.randn(128, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout, batch_first=True)
        self.body = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, 6)

    def forward(self, x):
        return self.head(self.body(self.embed(x) + self.position[: x.shape[1]]).mean(1))


def run(model, device, optimizer, epochs=20, batch_size=64, clip=1.0):
    train = DataLoader(TensorDataset(*torch.load("imu_train.pt")), batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("imu_valid.pt")), batch_size)
    for epoch in range(epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in valid]
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    parser = add_optimizer_options(argparse.ArgumentParser())
    for name, default in (("width", 128), ("heads", 4), ("layers", 3), ("epochs", 20), ("batch_size", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0)
    opts = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Encoder(**take(Encoder.__init__, opts)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), **take(torch.optim.AdamW.__init__, opts))
    run(model, device, optimizer, **take(run, opts))
