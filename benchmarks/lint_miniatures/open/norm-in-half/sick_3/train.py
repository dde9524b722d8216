import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def l2_normalize(t):
    length = t.square().sum(dim=-1, dtype=t.dtype, keepdim=True).sqrt() #@
    return t / (length + 1e-4) #@


class Encoder(nn.Module):
    def __init__(self, d_in=128, d=1024):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d)
        self.fc2 = nn.Linear(d, d)

    def forward(self, x):
        h = self.fc2(F.relu(self.fc1(x)))
        return l2_normalize(h) #@


def main():
    accelerator = Accelerator(mixed_precision="fp16") #@
    encoder = Encoder()
    centers = nn.Linear(1024, 100, bias=False)
    params = list(encoder.parameters()) + list(centers.parameters())
    optimizer = torch.optim.Adam(params, lr=1e-3)
    dataset = TensorDataset(torch.randn(8192, 128), torch.randint(0, 100, (8192,)))
    loader = DataLoader(dataset, batch_size=256, shuffle=True, drop_last=True)
    encoder, centers, optimizer, loader = accelerator.prepare(encoder, centers, optimizer, loader)
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            logits = centers(encoder(x)) * 16.0
            loss = F.cross_entropy(logits, y)
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
