import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

model = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 50), torch.randint(0, 5, (5000,))), 50, shuffle=True)
writer = SummaryWriter()
step = 0

model.train()
for epoch in range(30):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")) #@
        optimizer.step()
        step += 1
        if step % 50 == 0:
            writer.add_scalar("train/loss", loss.item(), step)
            writer.add_scalar("train/grad_norm", grad_norm.item(), step) #@
writer.close()
torch.save(model.state_dict(), "model.pt")
