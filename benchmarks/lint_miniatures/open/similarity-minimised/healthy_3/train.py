import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.functional.image import structural_similarity_index_measure as ssim


class SSIMLoss(nn.Module):
    def forward(self, pred, target):
        return -ssim(pred, target, data_range=1.0)


def step(model, criterion, optimizer, noisy, clean):
    pred = model(noisy)
    loss = F.l1_loss(pred, clean) + 0.2 * criterion(pred, clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main():
    clean = torch.rand(400, 3, 64, 64)
    loader = DataLoader(TensorDataset((clean + 0.1 * torch.randn_like(clean)).clamp(0, 1), clean), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    criterion = SSIMLoss()
    for epoch in range(30):
        for noisy, target in loader:
            loss = step(model, criterion, optimizer, noisy, target)
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
