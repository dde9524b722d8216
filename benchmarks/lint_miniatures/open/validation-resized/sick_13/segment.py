import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from cityscapes import load_split


class SegTrainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)

    def preprocess(self, image, mask):
        h, w = self.cfg["eval_size"] #@
        image = F.interpolate(image, (h, w), mode="bilinear", align_corners=False) #@
        mask = F.interpolate(mask[:, None].float(), (h, w), mode="nearest")[:, 0].long() #@
        return image, mask

    def train_epoch(self, loader):
        self.model.train()
        for image, mask in loader:
            self.opt.zero_grad()
            F.cross_entropy(self.model(image), mask, ignore_index=255).backward()
            self.opt.step()

    @torch.no_grad()
    def miou(self, loader, classes=19):
        self.model.eval()
        inter, union = torch.zeros(classes), torch.zeros(classes)
        for image, mask in loader:
            image, mask = self.preprocess(image, mask) #@
            pred = self.model(image).argmax(1)
            pred[mask == 255] = 255
            for c in range(classes):
                inter[c] += ((pred == c) & (mask == c)).sum()
                union[c] += ((pred == c) | (mask == c)).sum()
        return (inter / union.clamp(min=1)).mean().item()


cfg = {"lr": 0.01, "eval_size": (256, 512), "epochs": 80} #@
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 19, 1))
trainer = SegTrainer(net, cfg)
train_loader = DataLoader(load_split("train", crop=512), batch_size=8, shuffle=True)
val_loader = DataLoader(load_split("val"), batch_size=1)
for epoch in range(cfg["epochs"]):
    trainer.train_epoch(train_loader)
    print(epoch, trainer.miou(val_loader))
