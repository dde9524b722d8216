import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def fft_l2(pred, target):
    h, w = pred.shape[-2:]
    diff = torch.fft.fft2(pred - target)
    return diff.abs().pow(2).mean() / (h * w)  # Parseval: on the scale of the pixel MSE


net = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 1, 5, padding=2))
opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
loader = DataLoader(TensorDataset(torch.rand(3000, 1, 96, 96)), batch_size=16, shuffle=True)
net.train()
for epoch in range(30):
    running = torch.zeros(())
    for (gt,) in loader:
        out = net(gt + 0.1 * torch.randn_like(gt))
        loss = 0.5 * F.mse_loss(out, gt) + 0.5 * fft_l2(out, gt)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.detach()
    print(epoch, running.item() / len(loader))
torch.save(net.state_dict(), "net.pt")
