import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(batch):
    x = pad_sequence(batch, batch_first=True)
    lengths = torch.tensor([len(b) for b in batch])
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    return x, mask


tracks = [torch.randn(int(n), 6).cumsum(0) / 10 for n in torch.randint(20, 100, (3000,))]
loader = DataLoader(tracks, batch_size=30, shuffle=True, collate_fn=collate)
rnn, head = nn.GRU(6, 96, batch_first=True), nn.Linear(96, 6)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-3)
rnn.train()
head.train()
for epoch in range(20):
    for x, mask in loader:
        pred = head(rnn(x[:, :-1])[0])
        valid = mask[:, 1:]
        loss = F.mse_loss(pred[valid], x[:, 1:][valid])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
