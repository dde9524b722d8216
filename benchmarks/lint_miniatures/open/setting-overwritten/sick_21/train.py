import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--batch_size", type=int, default=64)  #@
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--hidden", type=int, default=200)
parser.add_argument("--dropout", type=float, default=0.2)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

if device.type == "cuda":
    torch.backends.cudnn.benchmark = True
args.batch_size = 32  #@

train_data = TensorDataset(*torch.load("ptb_windows_train.pt"))
valid_data = TensorDataset(*torch.load("ptb_windows_valid.pt"))
train_loader = DataLoader(train_data, batch_size=args.batch_size, shuffle=True)  #@
valid_loader = DataLoader(valid_data, batch_size=args.batch_size)


class WindowLM(nn.Module):
    def __init__(self, vocab=10000, window=8, dim=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(window * dim, args.hidden), nn.Tanh(),
                                 nn.Dropout(args.dropout), nn.Linear(args.hidden, vocab))

    def forward(self, ids):
        return self.net(self.embed(ids))


model = WindowLM().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    for ids, target in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids.to(device)), target.to(device))
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [F.cross_entropy(model(i.to(device)), t.to(device)) for i, t in valid_loader]
    print(f"epoch {epoch} ppl {torch.stack(losses).mean().exp().item():.1f}")
