import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionClassifier(nn.Module):
    def __init__(self, vocab=2000, dim=64, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.query = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, classes)

    def forward(self, ids):
        h = self.embed(ids)
        weights = torch.softmax(self.query(h), dim=1)
        return self.out((weights * h).sum(1))


model = AttentionClassifier()
log_softmax = nn.LogSoftmax(dim=-1)
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randint(0, 2000, (4000, 30)), torch.randint(0, 4, (4000,))), 40, shuffle=True)
model.train()
for epoch in range(15):
    for ids, y in loader:
        optimizer.zero_grad()
        loss = criterion(log_softmax(model(ids)), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
