import torch
from torch import nn
from torch.nn.functional import interpolate, l1_loss
from torch.utils.data import DataLoader, TensorDataset


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), nn.ELU(), nn.Conv2d(24, 1, 3, 1, 1))

    def forward(self, x):
        return interpolate(self.body(x), size=x.shape[-2:], mode="bilinear", align_corners=False)


class DepthTrainer:
    val_size = (60, 80)  #@

    def __init__(self, train_set, val_set):
        self.net = DepthNet()
        self.opt = torch.optim.Adam(self.net.parameters(), 1e-4)
        self.train_loader = DataLoader(train_set, batch_size=4, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=4)

    def train_epoch(self):
        self.net.train()
        for rgb, depth in self.train_loader:
            self.opt.zero_grad()
            l1_loss(self.net(rgb), depth).backward()
            self.opt.step()

    def _prepare(self, t):
        return interpolate(t, size=self.val_size, mode="nearest")  #@

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        err = [(self.net(self._prepare(rgb)) - self._prepare(depth)).pow(2).mean()  #@
               for rgb, depth in self.val_loader]
        return torch.stack(err).mean().sqrt().item()


if __name__ == "__main__":
    rgb = torch.rand(60, 3, 240, 320)
    depth = rgb.mean(1, keepdim=True) * 10
    t = DepthTrainer(TensorDataset(rgb[:48], depth[:48]), TensorDataset(rgb[48:], depth[48:]))
    for epoch in range(10):
        t.train_epoch()
        print(epoch, "rmse", t.evaluate())
