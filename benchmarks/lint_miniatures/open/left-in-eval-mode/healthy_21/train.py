import contextlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@contextlib.contextmanager
def evaluating(model):
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        model.train(was_training)


class Unet1d(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(1, width, 9, 2, 4), nn.BatchNorm1d(width), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv1d(width, width, 9, 1, 4), nn.ReLU(), nn.Dropout(0.1))
        self.up = nn.ConvTranspose1d(width, 1, 8, 2, 3)

    def forward(self, x):
        return self.up(self.mid(self.down(x)))


def validation_loss(model, loader, device):
    with evaluating(model) as m:
        losses = [F.binary_cross_entropy_with_logits(m(x.to(device)), y.to(device)) for x, y in loader]
        return torch.stack(losses).mean().item()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Unet1d().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("seismic_train.pt")), 32, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*torch.load("seismic_valid.pt")), 64)
    model.train()
    step, best = 0, float("inf")
    for epoch in range(30):
        for x, y in train:
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            step += 1
            if step % 400 == 0:
                score = validation_loss(model, valid, device)
                print(epoch, step, score)
                if score < best:
                    best = score
                    torch.save(model.state_dict(), "picker_best.pt")


if __name__ == "__main__":
    main()
