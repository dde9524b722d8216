import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class ChannelNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-5)
        return x.permute(0, 3, 1, 2)


def main():
    accelerator = Accelerator(mixed_precision="fp16")
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), ChannelNorm(64), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    images = torch.rand(512, 3, 48, 48)
    loader = DataLoader(TensorDataset(images, images.flip(-1)), batch_size=32, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.l1_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
