import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_scheduler(optimizer, cfg, steps_per_epoch):
    return torch.optim.lr_scheduler.OneCycleLR( #@
        optimizer, max_lr=cfg["max_lr"], epochs=cfg["epochs"], steps_per_epoch=steps_per_epoch #@
    )


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    ds = TensorDataset(torch.randn(2400, 12), torch.randn(2400, 2))
    loader = DataLoader(ds, batch_size=cfg["batch_size"], shuffle=True)
    model = nn.Sequential(nn.Linear(12, 48), nn.SiLU(), nn.Linear(48, 2))
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = build_scheduler(optimizer, cfg, len(loader)) #@
    for epoch in range(cfg["epochs"]):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        scheduler.step() #@
        print(epoch, loss.item(), scheduler.get_last_lr()[0])


if __name__ == "__main__":
    main()
