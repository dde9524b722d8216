import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from checkpoint import restore, store


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    gt = torch.rand(400, 3, 32, 32)
    lq = nn.functional.avg_pool2d(gt, 2)
    loader = DataLoader(TensorDataset(lq, gt), batch_size=cfg["batch_size"], shuffle=True)
    net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 12, 3, padding=1), nn.PixelShuffle(2))
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    first = restore(cfg["resume"], net, opt) if cfg["resume"] else 0
    for group in opt.param_groups:  #@
        group["lr"] = cfg["lr"]  #@
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=cfg["milestones"], gamma=0.5)  #@
    net.train()
    for epoch in range(first, cfg["epochs"]):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.l1_loss(net(a), b).backward()
            opt.step()
        sched.step()  #@
        store("last.pt", net, opt, epoch)


if __name__ == "__main__":
    main()
