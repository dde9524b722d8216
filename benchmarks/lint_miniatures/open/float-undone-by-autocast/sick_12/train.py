import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from attention import Attention


class Trainer:
    def __init__(self, model, lr):
        self.model = model.cuda()
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cuda", dtype=torch.float16): #@
            loss = nn.functional.cross_entropy(self.model(x).mean(1), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()


model = nn.Sequential(nn.Linear(24, 128), Attention(128), nn.Linear(128, 9)) #@
data = TensorDataset(torch.randn(4000, 50, 24), torch.randint(0, 9, (4000,)))
trainer = Trainer(model, 3e-4)
model.train()
for epoch in range(20):
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        trainer.step(x.cuda(), y.cuda())
