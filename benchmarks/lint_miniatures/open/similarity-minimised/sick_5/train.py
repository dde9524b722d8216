import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {
    "lr": 1e-3,
    "epochs": 20,
    "batch_size": 64,
    "losses": {"mse": 1.0, "psnr": 0.01}, #@
}


def psnr(pred, target):
    return -10 * torch.log10(F.mse_loss(pred, target) + 1e-6)


LOSSES = {"mse": F.mse_loss, "l1": F.l1_loss, "psnr": psnr} #@


def total_loss(pred, target, weights):
    return sum(w * LOSSES[name](pred, target) for name, w in weights.items()) #@


def main():
    accelerator = Accelerator()
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
    x = torch.rand(800, 1, 32, 32)
    loader = DataLoader(TensorDataset(x + 0.1 * torch.randn_like(x), x), batch_size=CONFIG["batch_size"], shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(CONFIG["epochs"]):
        for noisy, clean in loader:
            optimizer.zero_grad()
            loss = total_loss(model(noisy), clean, CONFIG["losses"]) #@
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
