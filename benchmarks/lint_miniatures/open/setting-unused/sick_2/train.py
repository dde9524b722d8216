import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_model(cfg):
    return nn.Sequential(nn.Linear(30, cfg["hidden"]), nn.ReLU(), nn.Dropout(cfg["dropout"]), nn.Linear(cfg["hidden"], 1))


def train_epoch(model, loader, opt):
    model.train()
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        opt.step()  #@


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return torch.stack([nn.functional.l1_loss(model(x), y) for x, y in loader]).mean().item()


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    torch.manual_seed(cfg["seed"])
    tcfg = cfg["train"]
    x = torch.randn(2500, 30)
    y = x[:, :5].prod(1, keepdim=True)
    train_dl = DataLoader(TensorDataset(x[:2000], y[:2000]), tcfg["batch_size"], shuffle=True)
    val_dl = DataLoader(TensorDataset(x[2000:], y[2000:]), tcfg["batch_size"])
    model = build_model(cfg["model"])
    opt = torch.optim.AdamW(model.parameters(), lr=tcfg["lr"])
    for epoch in range(tcfg["epochs"]):
        train_epoch(model, train_dl, opt)
        print(epoch, evaluate(model, val_dl))


if __name__ == "__main__":
    main()
