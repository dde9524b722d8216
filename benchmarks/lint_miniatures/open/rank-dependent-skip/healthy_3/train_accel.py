import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator()
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(3000, 12), torch.randn(3000, 1)), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 36), nn.ReLU(), nn.Linear(36, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(5):
        model.train()
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        losses = accelerator.gather(loss.detach())
        if accelerator.is_main_process:
            print(epoch, losses.mean().item())
            torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
        accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
