import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(cfg):
    layers = [nn.Linear(32, cfg["width"]), nn.GELU()]
    for _ in range(cfg["depth"] - 1):
        layers += [nn.Linear(cfg["width"], cfg["width"]), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(cfg["width"], 32))


def cycle(loader):
    while True:
        yield from loader


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    net = build(cfg["model"])
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["optim"]["lr"], betas=tuple(cfg["optim"]["betas"]))
    loader = DataLoader(TensorDataset(torch.randn(20000, 32)), batch_size=cfg["train"]["batch_size"], shuffle=True)
    batches = cycle(loader)
    net.train()
    for step in range(cfg["train"]["steps"]):
        (x,) = next(batches)
        loss = nn.functional.mse_loss(net(x + 0.2 * torch.randn_like(x)), x)
        opt.zero_grad(set_to_none=True)
        loss.backward() #@
        opt.step() #@
        if step % 500 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
