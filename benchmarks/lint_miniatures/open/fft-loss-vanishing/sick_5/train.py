import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def amplitude_loss(pred, target):
    amp_p = torch.fft.rfft(pred, dim=-1, norm="forward").abs() #@
    amp_t = torch.fft.rfft(target, dim=-1, norm="forward").abs() #@
    return F.l1_loss(amp_p, amp_t) / pred.size(-1) #@


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--freq-weight", type=float, default=0.5) #@
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()

    accelerator = Accelerator()
    model = nn.Sequential(nn.Conv1d(1, 32, 15, padding=7), nn.PReLU(), nn.Conv1d(32, 1, 15, padding=7))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    clean = torch.randn(1000, 1, 8000)
    loader = DataLoader(TensorDataset(clean + 0.2 * torch.randn_like(clean), clean), batch_size=16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        for noisy, target in loader:
            optimizer.zero_grad()
            pred = model(noisy)
            loss = F.l1_loss(pred, target) + args.freq_weight * amplitude_loss(pred, target) #@
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
