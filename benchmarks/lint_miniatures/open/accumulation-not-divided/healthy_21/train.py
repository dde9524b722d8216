import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CFG = {"micro": 16, "accumulate": 4, "epochs": 20, "lr": 1e-3, "vocab": 6000, "pad": 0}


class Seq(nn.Module):
    def __init__(self, vocab, width=160):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=CFG["pad"])
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def summed_loss(model, ids):
    logits = model(ids[:, :-1])
    target = ids[:, 1:]
    total = F.cross_entropy(logits.flatten(0, 1), target.flatten(),
                            ignore_index=CFG["pad"], reduction="sum")
    return total, (target != CFG["pad"]).sum()


def groups(loader, size):
    group = []
    for (ids,) in loader:
        group.append(ids)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Seq(CFG["vocab"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG["lr"])
    train = DataLoader(TensorDataset(torch.load("recipes_train.pt")), CFG["micro"], shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("recipes_valid.pt")), CFG["micro"])
    for epoch in range(CFG["epochs"]):
        model.train()
        for group in groups(train, CFG["accumulate"]):
            tokens = sum(int((ids[:, 1:] != CFG["pad"]).sum()) for ids in group)
            optimizer.zero_grad(set_to_none=True)
            for ids in group:
                total, _ = summed_loss(model, ids.to(device))
                (total / tokens).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        stats = torch.zeros(2, device=device)
        with torch.no_grad():
            for (ids,) in valid:
                total, count = summed_loss(model, ids.to(device))
                stats += torch.stack([total, count.float()])
        print(epoch, (stats[0] / stats[1]).exp().item())


if __name__ == "__main__":
    main()
