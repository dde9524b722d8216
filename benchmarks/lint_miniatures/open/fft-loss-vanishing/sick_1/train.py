import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 3, 5, padding=2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
sharp = torch.rand(200, 3, 256, 256)
blurry = F.avg_pool2d(sharp, 9, stride=1, padding=4)
loader = DataLoader(TensorDataset(blurry, sharp), batch_size=4, shuffle=True)

for epoch in range(100):
    model.train()
    for x, y in loader:
        pred = x + model(x)
        l1 = F.l1_loss(pred, y)
        fft_pred = torch.fft.fft2(pred, norm="forward") #@
        fft_gt = torch.fft.fft2(y, norm="forward") #@
        freq = (fft_pred - fft_gt).abs().mean() #@
        loss = l1 + 0.1 * freq #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: l1 {l1.item():.4f} freq {freq.item():.6f}")
torch.save(model.state_dict(), "deblur.pt")
