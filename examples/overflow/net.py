"""A small residual network whose values grow from block to block, trained in float16."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(torch.relu(self.up(x))))


class Net(nn.Module):
    def __init__(self, width=16, depth=4):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss(output, batch):
    _, target = batch
    return nn.functional.mse_loss(output.float(), target)


def build():
    """What `stethoscope replay` asks for: the model, its loss and its optimizer."""
    model = Net()
    return model, loss, torch.optim.AdamW(model.parameters(), lr=0.5)
