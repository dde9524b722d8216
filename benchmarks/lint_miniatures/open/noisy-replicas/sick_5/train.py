import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_collate(cfg):
    n, sigma = cfg["num_mics"], cfg["replica_noise"]  #@

    def collate(batch):
        mono = torch.stack([b[0] for b in batch])
        target = torch.stack([b[1] for b in batch])
        mics = torch.stack([mono + sigma * torch.randn_like(mono) for _ in range(n)], dim=1)  #@
        return mics, target

    return collate


class Beamformer(nn.Module):
    def __init__(self, mics, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(mics, hidden, 15, padding=7), nn.PReLU(), nn.Conv1d(hidden, 1, 15, padding=7))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    with open("config.yml") as f:
        cfg = yaml.safe_load(f)
    clean = torch.randn(900, 1600)
    mixture = clean + 0.3 * torch.randn_like(clean)
    collate = make_collate(cfg)
    train_dl = DataLoader(TensorDataset(mixture[:800], clean[:800]), cfg["batch_size"], shuffle=True, collate_fn=collate)  #@
    val_dl = DataLoader(TensorDataset(mixture[800:], clean[800:]), cfg["batch_size"], collate_fn=collate)
    net = Beamformer(cfg["num_mics"], cfg["hidden"])
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            nn.functional.l1_loss(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.stack([nn.functional.l1_loss(net(x), y) for x, y in val_dl]).mean().item())


if __name__ == "__main__":
    main()
