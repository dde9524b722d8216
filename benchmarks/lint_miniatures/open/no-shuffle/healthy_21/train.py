import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Sentences(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class LengthBuckets(Sampler):
    def __init__(self, dataset, batch_size):
        self.order = sorted(range(len(dataset)), key=lambda i: len(dataset[i][0]))
        self.batch_size = batch_size

    def __iter__(self):
        batches = [self.order[i:i + self.batch_size] for i in range(0, len(self.order), self.batch_size)]
        random.shuffle(batches)
        return iter(batches)

    def __len__(self):
        return (len(self.order) + self.batch_size - 1) // self.batch_size


def collate(rows):
    ids = nn.utils.rnn.pad_sequence([r[0] for r in rows], batch_first=True)
    return ids, torch.tensor([r[1] for r in rows])


class Classifier(nn.Module):
    def __init__(self, vocab=20000, dim=128, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1).float()
        return self.head((self.embed(ids) * mask).sum(1) / mask.sum(1).clamp_min(1))


random.seed(0)
torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
train_set, valid_set = Sentences("news_train.pt"), Sentences("news_valid.pt")
train = DataLoader(train_set, batch_sampler=LengthBuckets(train_set, 64), collate_fn=collate)
valid = DataLoader(valid_set, batch_size=128, shuffle=False, collate_fn=collate)
model = Classifier().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(8):
    model.train()
    for ids, label in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids.to(device)), label.to(device))
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = [(model(i.to(device)).argmax(1).cpu() == y).float() for i, y in valid]
    print(epoch, torch.cat(hits).mean().item())
