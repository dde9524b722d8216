import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0
VOCAB = 200


def collate(batch):
    seqs = pad_sequence([torch.tensor(s) for s in batch], batch_first=True, padding_value=PAD)
    return seqs[:, :-1], seqs[:, 1:] #@


class CharLM(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


sentences = [[random.randrange(1, VOCAB) for _ in range(random.randint(5, 60))] for _ in range(3000)]
loader = DataLoader(sentences, batch_size=32, shuffle=True, collate_fn=collate)
model = CharLM()
criterion = nn.CrossEntropyLoss() #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for inp, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(inp).reshape(-1, VOCAB), target.reshape(-1)) #@
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
