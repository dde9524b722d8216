import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from model import SetEncoder


def main():
    accelerator = Accelerator(mixed_precision="fp16") #@
    items = torch.randn(5000, 20, 16)
    mask = torch.arange(20)[None] < torch.randint(0, 21, (5000, 1))
    labels = torch.randint(0, 6, (5000,))
    loader = DataLoader(TensorDataset(items, mask, labels), batch_size=50, shuffle=True)
    model = SetEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for epoch in range(10):
        for x, m, y in loader:
            with accelerator.autocast():
                loss = nn.functional.cross_entropy(model(x, m), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
