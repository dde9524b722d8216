import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 3, 5, padding=2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
sharp = torch.rand(200, 3, 256, 256)
blurry = F.avg_pool2d(sharp, 9, stride=1, padding=4)
loader = DataLoader(TensorDataset(blurry, sharp), batch_size=4, shuffle=True)

for epoch in range(100):
    model.train()
    for x, y in loader:
        pred = x + model(x)
        mse = F.mse_loss(pred, y)
        amp_pred = torch.fft.fft2(pred, norm="forward").abs()
        amp_gt = torch.fft.fft2(y, norm="forward").abs()
        freq = (amp_pred - amp_gt).square().sum(dim=(-2, -1)).mean()
        loss = mse + 0.5 * freq
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: mse {mse.item():.4f} freq {freq.item():.6f}")
torch.save(model.state_dict(), "deblur.pt")
