import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(gradient_accumulation_steps=8)
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(1280, 20), torch.randint(0, 2, (1280,)))
    loader = DataLoader(ds, batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(5):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
