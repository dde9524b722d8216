import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure


def denorm(x):
    return (x * 0.5 + 0.5).clamp(0, 1)


def main():
    target = torch.rand(400, 3, 32, 32) * 2 - 1
    source = target + 0.1 * torch.randn_like(target)
    train_dl = DataLoader(TensorDataset(source[:350], target[:350]), batch_size=10, shuffle=True)
    val_dl = DataLoader(TensorDataset(source[350:], target[350:]), batch_size=10)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    psnr = PeakSignalNoiseRatio(data_range=1.0)
    ssim = StructuralSimilarityIndexMeasure(data_range=1.0)
    for epoch in range(15):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            F.l1_loss(net(x), y).backward()
            opt.step()
        net.eval()
        psnr.reset()
        ssim.reset()
        with torch.no_grad():
            for x, y in val_dl:
                out, ref = denorm(net(x)), denorm(y)
                psnr.update(out, ref)
                ssim.update(out, ref)
        print(epoch, psnr.compute().item(), ssim.compute().item())


if __name__ == "__main__":
    main()
