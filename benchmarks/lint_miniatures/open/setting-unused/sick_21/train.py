from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    grad_clip: float = 1.0  #@
    hidden: int = 160
    dropout: float = 0.25
    seed: int = 7


class PoseLSTM(nn.Module):
    def __init__(self, cfg, inputs=51, classes=12):
        super().__init__()
        self.rnn = nn.LSTM(inputs, cfg.hidden, num_layers=2, batch_first=True, dropout=cfg.dropout)
        self.head = nn.Linear(cfg.hidden, classes)

    def forward(self, x):
        return self.head(self.rnn(x)[0].mean(1))


def train_epoch(model, loader, optimizer, device):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()  #@
        optimizer.step()  #@


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def main(cfg: TrainConfig):
    torch.manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = PoseLSTM(cfg).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.learning_rate, weight_decay=cfg.weight_decay)
    train = DataLoader(TensorDataset(*torch.load("pose_train.pt")), cfg.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("pose_valid.pt")), cfg.batch_size)
    for epoch in range(cfg.epochs):
        train_epoch(model, train, optimizer, device)
        print(epoch, accuracy(model, valid, device))


if __name__ == "__main__":
    main(TrainConfig())
