import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(),
    nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1),
)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-4)
sharp = torch.rand(1000, 3, 256, 256)
loader = DataLoader(TensorDataset(F.avg_pool2d(sharp, 7, 1, 3), sharp), batch_size=4, shuffle=True)

net.train()
for epoch in range(100):
    for blur, gt in loader:
        out = blur + net(blur)
        l1 = F.l1_loss(out, gt)
        fft = (torch.fft.fft2(out) - torch.fft.fft2(gt)).abs().mean() #@
        loss = l1 + fft #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} l1 {l1.item():.4f} fft {fft.item():.4f}")
torch.save(net.state_dict(), "deblur.pt")
