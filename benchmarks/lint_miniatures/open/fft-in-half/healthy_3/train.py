import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def spectral_l1(pred, target):
    return (torch.fft.fft2(pred, norm="ortho") - torch.fft.fft2(target, norm="ortho")).abs().mean()


def train_step(model, opt, scaler, blur, sharp):
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.float16):
        pred = model(blur)
    pred = pred.float()
    loss = F.l1_loss(pred, sharp) + 0.05 * spectral_l1(pred, sharp)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return loss.detach()


def main():
    sharp = torch.rand(200, 3, 100, 100)
    loader = DataLoader(TensorDataset(F.avg_pool2d(sharp, 3, 1, 1), sharp), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Conv2d(3, 48, 5, padding=2), nn.GELU(), nn.Conv2d(48, 3, 5, padding=2)).cuda()
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(20):
        for blur, sharp_batch in loader:
            loss = train_step(model, opt, scaler, blur.cuda(), sharp_batch.cuda())
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
