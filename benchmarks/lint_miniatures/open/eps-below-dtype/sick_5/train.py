import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DepthNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 3, padding=1), nn.ReLU())

    def forward(self, x, eps=1e-8): #@
        disparity = self.body(x)
        return 1.0 / torch.clamp(disparity, min=eps) #@


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = DepthNet(args.width).cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.scaler = torch.amp.GradScaler("cuda")
        data = TensorDataset(torch.rand(300, 3, 64, 64), torch.rand(300, 1, 64, 64) + 0.5)
        self.loader = DataLoader(data, batch_size=args.batch_size, shuffle=True)

    def step(self, image, depth):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16): #@
            pred = self.model(image) #@
            loss = nn.functional.smooth_l1_loss(pred, depth)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def run(self):
        for epoch in range(self.args.epochs):
            total = sum(self.step(i.cuda(), d.cuda()) for i, d in self.loader)
            print(epoch, (total / len(self.loader)).item())


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=20)
    Trainer(p.parse_args()).run()
