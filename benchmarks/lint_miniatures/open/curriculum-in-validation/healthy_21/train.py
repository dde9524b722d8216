import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CFG = {"epochs": 40, "batch_size": 32, "lr": 3e-4, "max_len": 512, "min_len": 64, "ramp": 20,
       "vocab": 256, "width": 192}


class LengthCurriculum:
    def __init__(self, min_len, max_len, ramp):
        self.min_len, self.max_len, self.ramp = min_len, max_len, ramp
        self.epoch = 0

    def length(self):
        frac = min(1.0, self.epoch / self.ramp)
        return int(self.min_len + frac * (self.max_len - self.min_len))


class ByteLM(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def nll(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def validate(model, loader, length, device):
    model.eval()
    with torch.no_grad():
        losses = [nll(model, ids[:, :length].to(device)) for (ids,) in loader]
    return torch.stack(losses).mean().item()


def main(cfg):
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    curriculum = LengthCurriculum(cfg["min_len"], cfg["max_len"], cfg["ramp"])
    model = ByteLM(cfg["vocab"], cfg["width"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    train = DataLoader(TensorDataset(torch.load("bytes_train.pt")), cfg["batch_size"], shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("bytes_valid.pt")), cfg["batch_size"])
    for epoch in range(cfg["epochs"]):
        curriculum.epoch = epoch
        model.train()
        for (ids,) in train:
            optimizer.zero_grad()
            loss = nll(model, ids[:, : curriculum.length()].to(device))
            loss.backward()
            optimizer.step()
        full = validate(model, valid, curriculum.max_len, device)
        print(f"epoch {epoch} len {curriculum.length()} valid@{curriculum.max_len} {full:.4f}")


if __name__ == "__main__":
    main(CFG)
