import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class ScaleNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        scale = x.abs().mean(dim=-1, keepdim=True)
        return self.gain * x / (scale + torch.finfo(torch.float16).tiny)


def main():
    accelerator = Accelerator(mixed_precision="fp16")
    model = nn.Sequential(nn.Linear(40, 256), nn.LayerNorm(256, eps=1e-12), nn.Tanh(), ScaleNorm(), nn.Linear(256, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    data = TensorDataset(torch.randn(3000, 40), torch.randint(0, 5, (3000,)))
    loader = DataLoader(data, batch_size=64, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(20):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
