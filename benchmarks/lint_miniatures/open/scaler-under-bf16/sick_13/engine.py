import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Engine:
    def __init__(self, model, cfg):
        self.model = model.cuda()
        self.cfg = cfg
        self.dtype = torch.bfloat16 if cfg["precision"] == "bf16" else torch.float16
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
        self.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**16, enabled=cfg["use_grad_scaler"]) #@

    def run(self, loader):
        self.model.train()
        for epoch in range(self.cfg["epochs"]):
            for img, mask in loader:
                self.opt.zero_grad()
                with torch.autocast("cuda", dtype=self.dtype): #@
                    loss = nn.functional.binary_cross_entropy_with_logits(self.model(img.cuda()), mask.cuda())
                self.scaler.scale(loss).backward() #@
                self.scaler.step(self.opt)
                self.scaler.update()
            print(epoch, loss.item())


with open("config.yaml") as f:
    cfg = yaml.safe_load(f)
data = TensorDataset(torch.rand(800, 1, 64, 64), (torch.rand(800, 1, 64, 64) > 0.5).float())
net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
Engine(net, cfg).run(DataLoader(data, batch_size=cfg["batch_size"], shuffle=True))
