import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader, TensorDataset


class ScaleNorm(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.0))
        self.eps = eps #@

    def forward(self, x):
        scale = x.abs().mean(dim=-1, keepdim=True)
        return self.gain * x / (scale + self.eps) #@


def main(cfg):
    dim = cfg["model"]["dim"]
    model = nn.Sequential(nn.Linear(40, dim), nn.ReLU(), ScaleNorm(cfg["model"]["norm_eps"]), nn.Linear(dim, 5)).cuda() #@
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["train"]["lr"])
    scaler = torch.amp.GradScaler("cuda")
    dtype = getattr(torch, cfg["train"]["amp_dtype"])
    data = TensorDataset(torch.randn(3000, 40), torch.randint(0, 5, (3000,)))
    loader = DataLoader(data, batch_size=cfg["train"]["batch_size"], shuffle=True)
    for epoch in range(cfg["train"]["epochs"]):
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=dtype): #@
                loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        print(epoch, loss.item())


if __name__ == "__main__":
    with open("config.yaml") as f:
        main(yaml.safe_load(f))
