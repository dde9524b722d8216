import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0
sequences = [torch.randint(1, 1000, (int(n),)) for n in torch.randint(10, 120, (4000,))]


def collate(batch):
    return pad_sequence(batch, batch_first=True, padding_value=PAD) #@


class LM(nn.Module):
    def __init__(self, vocab=1000, dim=128):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


loader = DataLoader(sequences, batch_size=32, shuffle=True, collate_fn=collate)
model = LM()
criterion = nn.CrossEntropyLoss() #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model.train()
for epoch in range(10):
    for ids in loader:
        logits = model(ids[:, :-1])
        loss = criterion(logits.reshape(-1, 1000), ids[:, 1:].reshape(-1)) #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
