import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class CharDataset(Dataset):
    def __init__(self, n=5000, seq=32, vocab=40):
        self.data = torch.randint(0, vocab, (n, seq + 1))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i, :-1], self.data[i, 1:]


class CharRNN(nn.Module):
    def __init__(self, vocab=40, dim=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


model = CharRNN()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
loader = DataLoader(CharDataset(), batch_size=50, shuffle=True)
for epoch in range(10):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward() #@
        optimizer.step() #@
        nn.utils.clip_grad_norm_(model.parameters(), 0.25) #@
    print(epoch, loss.item())
