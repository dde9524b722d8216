import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, TensorDataset


def fft_loss(pred, target, norm):
    p = torch.view_as_real(torch.fft.fft2(pred, norm=norm)) #@
    t = torch.view_as_real(torch.fft.fft2(target, norm=norm)) #@
    return F.l1_loss(p, t) #@


def main(cfg):
    clean = torch.rand(240, 3, 128, 128)
    data = TensorDataset((clean + 0.1 * torch.randn_like(clean)).clamp(0, 1), clean)
    loader = DataLoader(data, batch_size=cfg["batch_size"], shuffle=True)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 3, 3, padding=1))
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
    w = cfg["loss"]
    for epoch in range(cfg["epochs"]):
        for x, y in loader:
            pred = net(x)
            loss = w["l1"] * F.l1_loss(pred, y) + w["fft"] * fft_loss(pred, y, w["fft_norm"]) #@
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    with open("config.yaml") as f:
        main(yaml.safe_load(f))
