import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self, vocab=8000, tags=17, width=128):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        self.rnn = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, tags)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def token_loss(logits, tags):
    return F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)


def main():
    set_seed(5)
    acc = Accelerator()
    train = TensorDataset(*torch.load("tags_train.pt"))
    dev = TensorDataset(*torch.load("tags_dev.pt"))
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    train_loader = DataLoader(train, batch_size=32, shuffle=True)
    dev_loader = DataLoader(dev, batch_size=128)
    model, optimizer, train_loader, dev_loader = acc.prepare(
        model, optimizer, train_loader, dev_loader)

    best_loss = float("inf")
    for epoch in range(12):
        model.train()
        for ids, tags in train_loader:
            optimizer.zero_grad()
            loss = token_loss(model(ids), tags)
            acc.backward(loss)
            optimizer.step()

        model.eval()
        losses = []
        with torch.no_grad():
            for ids, tags in dev_loader:
                loss = token_loss(model(ids), tags)
                losses.append(acc.gather_for_metrics(loss.repeat(len(ids))))
        loss = torch.cat(losses).mean().item()
        acc.print(epoch, loss)
        if loss < best_loss:
            best_loss = loss
            acc.wait_for_everyone()
            acc.save(acc.unwrap_model(model).state_dict(), "tagger_best.pt")


if __name__ == "__main__":
    main()
