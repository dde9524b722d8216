import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(mixed_precision="bf16", log_with="wandb")
    torch.manual_seed(0)
    accelerator.init_trackers("toy-run")
    loader = DataLoader(TensorDataset(torch.randn(40000, 32), torch.randn(40000, 32)), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(32, 256), nn.SiLU(), nn.Linear(256, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    step = 0
    for epoch in range(10):
        model.train()
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            avg_loss = accelerator.gather(loss.detach()).mean().item() #@
            accelerator.log({"train_loss": avg_loss}, step=step) #@
            step += 1
    accelerator.end_training()


if __name__ == "__main__":
    main()
