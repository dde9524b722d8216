import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpamNet(nn.Module):
    def __init__(self, vocab=30000, width=100):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, width, mode="mean")
        self.net = nn.Sequential(nn.Dropout(0.5), nn.Linear(width, 64), nn.BatchNorm1d(64),
                                 nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 1))

    def forward(self, ids):
        return self.net(self.bag(ids)).squeeze(1)


def train_one_epoch(accelerator, model, loader, optimizer):
    model.train()
    for ids, spam in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(ids), spam.float())
        accelerator.backward(loss)
        optimizer.step()


@torch.no_grad()
def test(accelerator, model, loader):  #@
    hits = []
    for ids, spam in loader:
        pred = (model(ids) > 0).long()  #@
        pred, spam = accelerator.gather_for_metrics((pred, spam))
        hits.append((pred == spam).float())
    return torch.cat(hits).mean().item()


def main():
    set_seed(1)
    accelerator = Accelerator()
    model = SpamNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("mail_train.pt")), 256, shuffle=True, drop_last=True)
    dev = DataLoader(TensorDataset(*torch.load("mail_dev.pt")), 256)
    model, optimizer, train, dev = accelerator.prepare(model, optimizer, train, dev)
    for epoch in range(15):
        train_one_epoch(accelerator, model, train, optimizer)
        accelerator.print(epoch, test(accelerator, model, dev))  #@


if __name__ == "__main__":
    main()
