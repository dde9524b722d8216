import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.amp import GradScaler
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(mixed_precision="bf16") #@
    scaler = GradScaler() #@
    gen = nn.Sequential(nn.Linear(16, 128), nn.LeakyReLU(0.2), nn.Linear(128, 2))
    optimizer = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.5, 0.999))
    loader = DataLoader(TensorDataset(torch.randn(4000, 16), torch.randn(4000, 2)), batch_size=100, shuffle=True)
    gen, optimizer, loader = accelerator.prepare(gen, optimizer, loader)
    gen.train()
    for epoch in range(30):
        for z, target in loader:
            optimizer.zero_grad()
            with accelerator.autocast(): #@
                loss = nn.functional.mse_loss(gen(z), target)
            scaler.scale(loss).backward() #@
            scaler.step(optimizer.optimizer) #@
            scaler.update() #@
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
