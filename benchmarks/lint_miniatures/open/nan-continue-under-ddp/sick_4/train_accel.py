import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(mixed_precision="bf16")
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(6400, 32), torch.randn(6400, 32))
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.Linear(128, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(10):
        model.train()
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y)
            if torch.isnan(loss).any() or torch.isinf(loss).any(): #@
                accelerator.print(f"step {step}: bad loss, skipped")
                optimizer.zero_grad()
                continue #@
            accelerator.backward(loss) #@
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
