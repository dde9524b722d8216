import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __init__(self, n=1500):
        self.series = [torch.randn(int(k), 3).cumsum(0) for k in torch.randint(20, 120, (n,))]

    def __len__(self):
        return len(self.series)

    def __getitem__(self, i):
        return self.series[i]


def collate(batch):
    lengths = torch.tensor([len(s) - 1 for s in batch])
    return pad_sequence([s[:-1] for s in batch], True), pad_sequence([s[1:] for s in batch], True), lengths #@


class Forecaster(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.gru = nn.GRU(3, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 3)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.head(h)


accelerator = Accelerator()
model = Forecaster()
criterion = nn.SmoothL1Loss() #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Signals(), batch_size=32, shuffle=True, collate_fn=collate)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(15):
    for x, target, lengths in loader:
        optimizer.zero_grad()
        loss = criterion(model(x, lengths), target) #@
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
