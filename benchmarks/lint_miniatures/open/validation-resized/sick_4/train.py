import torch
import torch.nn.functional as F
import yaml
from torch import nn
from torch.utils.data import DataLoader

from data import PairedImages, make_collate


def psnr(a, b):
    return -10 * torch.log10(F.mse_loss(a, b).clamp_min(1e-10))


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    collate = make_collate(cfg["data"]["image_size"])
    train_dl = DataLoader(PairedImages(cfg["data"]["train_list"]), cfg["batch_size"], shuffle=True, collate_fn=collate)
    val_dl = DataLoader(PairedImages(cfg["data"]["val_list"]), cfg["batch_size"], collate_fn=collate)  #@
    net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.GELU(), nn.Conv2d(48, 3, 3, padding=1))
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        net.train()
        for noisy, clean in train_dl:
            opt.zero_grad()
            F.mse_loss(net(noisy), clean).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            scores = [psnr(net(noisy).clamp(0, 1), clean) for noisy, clean in val_dl]
        print(epoch, torch.stack(scores).mean().item())


if __name__ == "__main__":
    main()
