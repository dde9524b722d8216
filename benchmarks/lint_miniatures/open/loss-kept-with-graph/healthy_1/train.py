import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

chunk = 8
data = torch.randn(500, 40, 6)
loader = DataLoader(TensorDataset(data[:, :-1], data[:, 1:]), batch_size=25, shuffle=True)
rnn = nn.GRU(6, 32, batch_first=True)
head = nn.Linear(32, 6)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-3)

for epoch in range(10):
    rnn.train()
    head.train()
    for x, y in loader:
        hidden = None
        for t in range(0, x.size(1), chunk):
            if hidden is not None:
                hidden = hidden.detach()
            out, hidden = rnn(x[:, t : t + chunk], hidden)
            pred = head(out)
            total_loss = 0
            for k in range(pred.size(1)):
                total_loss += nn.functional.mse_loss(pred[:, k], y[:, t + k])
            total_loss = total_loss / pred.size(1)
            optimizer.zero_grad()
            total_loss.backward()
            optimizer.step()
    print(epoch, total_loss.item())
