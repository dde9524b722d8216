import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from blocks import StableBlock


class MarketModel(nn.Module):
    def __init__(self, inputs=32, dim=128, heads=4, depth=4, length=128):
        super().__init__()
        self.embed = nn.Linear(inputs, dim)
        self.position = nn.Parameter(torch.randn(length, dim) * 0.02)
        self.blocks = nn.Sequential(*[StableBlock(dim, heads) for _ in range(depth)])
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        h = self.embed(x) + self.position[: x.shape[1]]
        return self.head(self.blocks(h)[:, -1])


def main():
    set_seed(0)
    accelerator = Accelerator(mixed_precision="fp16")  #@
    model = MarketModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train = DataLoader(TensorDataset(*torch.load("ticks_train.pt")), 128, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("ticks_valid.pt")), 256)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    for epoch in range(20):
        model.train()
        for x, move in train:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), move))
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = [accelerator.gather_for_metrics((model(x).argmax(1) == m).float()) for x, m in valid]
        accelerator.print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
