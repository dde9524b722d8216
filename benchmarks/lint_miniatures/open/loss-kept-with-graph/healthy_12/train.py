import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

cell = nn.LSTMCell(8, 64)
head = nn.Linear(64, 8)
params = list(cell.parameters()) + list(head.parameters())
optimizer = torch.optim.Adam(params, lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(2000, 30, 8)), batch_size=50, shuffle=True)

cell.train()
head.train()
for epoch in range(20):
    for (seq,) in loader:
        h = c = torch.zeros(len(seq), 64)
        total_loss = 0
        for t in range(seq.shape[1] - 1):
            h, c = cell(seq[:, t], (h, c))
            total_loss += nn.functional.mse_loss(head(h), seq[:, t + 1])
        loss = total_loss / (seq.shape[1] - 1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
    print(epoch, loss.item())
torch.save({"cell": cell.state_dict(), "head": head.state_dict()}, "model.pt")
