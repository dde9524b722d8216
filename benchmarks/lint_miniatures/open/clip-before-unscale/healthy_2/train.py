import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(mixed_precision="fp16")
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(1500, 8), torch.randn(1500, 3)), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 48), nn.GELU(), nn.Linear(48, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(5):
        model.train()
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(epoch, loss.item())
    accelerator.end_training()


if __name__ == "__main__":
    main()
