import argparse
import os

import torch
import torch.nn.functional as F
import torchvision
from torch.utils.data import DataLoader, TensorDataset


class Run:
    def __init__(self, device, pretrained, epochs):
        self.device, self.epochs, self.epoch = device, epochs, 0
        self.model = torchvision.models.resnet18(num_classes=12)
        if pretrained:
            weights = torch.load(pretrained, map_location="cpu")
            weights = {k: v for k, v in weights.items() if not k.startswith("fc.")}
            self.model.load_state_dict(weights, strict=False)
        self.model.to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs)

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(), "epoch": self.epoch}

    def resume(self, path):
        state = torch.load(path, map_location=self.device)
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch = state["epoch"]

    def fit(self, train, valid, path):
        while self.epoch < self.epochs:
            self.model.train()
            for x, y in train:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
                loss.backward()
                self.optimizer.step()
            self.scheduler.step()
            self.epoch += 1
            print(self.epoch, self.accuracy(valid))
            torch.save(self.state(), path)

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = [(self.model(x.to(self.device)).argmax(1).cpu() == y).float() for x, y in loader]
        return torch.cat(hits).mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretrained", default="")
    parser.add_argument("--last", default="last.pt")
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(0)
    run = Run("cuda" if torch.cuda.is_available() else "cpu", args.pretrained, args.epochs)
    if os.path.exists(args.last):
        run.resume(args.last)
    run.fit(DataLoader(TensorDataset(*torch.load("cells_train.pt")), 64, shuffle=True, drop_last=True),
            DataLoader(TensorDataset(*torch.load("cells_valid.pt")), 128), args.last)
