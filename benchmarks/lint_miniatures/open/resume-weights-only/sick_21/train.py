import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class StockLSTM(nn.Module):
    def __init__(self, inputs=6, width=96):
        super().__init__()
        self.rnn = nn.LSTM(inputs, width, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1]).squeeze(1)


def save(path, model, epoch):
    torch.save({"model": model.state_dict(), "epoch": epoch}, path)  #@


def load(path, model, device):
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])  #@
    return state["epoch"] + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default=None)
    parser.add_argument("--epochs", type=int, default=100)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = StockLSTM().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    start = load(args.resume, model, device) if args.resume else 0  #@
    train = DataLoader(TensorDataset(*torch.load("stocks_train.pt")), 64, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("stocks_valid.pt")), 256)
    for epoch in range(start, args.epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            errors = [F.mse_loss(model(x.to(device)), y.to(device)) for x, y in valid]
        print(epoch, torch.stack(errors).mean().item())
        save("stocks_last.pt", model, epoch)


if __name__ == "__main__":
    main()
