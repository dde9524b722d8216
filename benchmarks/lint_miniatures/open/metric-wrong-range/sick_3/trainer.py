import numpy as np
import torch
from skimage.metrics import structural_similarity
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Restorer:
    def __init__(self, train_set, val_set):
        self.net = nn.Sequential(nn.Conv2d(1, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 1, 3, padding=1))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        self.train_dl = DataLoader(train_set, batch_size=16, shuffle=True)
        self.val_dl = DataLoader(val_set, batch_size=1)

    @staticmethod
    def to_image(t):
        return (t.squeeze().clamp(0, 1).cpu().numpy() * 255).round().astype(np.float32)  #@

    def train_epoch(self):
        self.net.train()
        for x, y in self.train_dl:
            self.opt.zero_grad()
            nn.functional.mse_loss(self.net(x), y).backward()
            self.opt.step()

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        scores = []
        for x, y in self.val_dl:
            out, ref = self.to_image(self.net(x)), self.to_image(y)
            scores.append(structural_similarity(out, ref, data_range=1.0))  #@
        return float(np.mean(scores))


if __name__ == "__main__":
    y = torch.rand(300, 1, 40, 40)
    x = y + 0.08 * torch.randn_like(y)
    r = Restorer(TensorDataset(x[:250], y[:250]), TensorDataset(x[250:], y[250:]))
    for epoch in range(20):
        r.train_epoch()
        print(epoch, r.evaluate())
