import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(100, 400), nn.GELU(), nn.Linear(400, 20)).cuda()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
scaler = torch.cuda.amp.GradScaler() #@
dataset = TensorDataset(torch.randn(10000, 100), torch.randint(0, 20, (10000,)))
loader = DataLoader(dataset, batch_size=256, shuffle=True, pin_memory=True)

for epoch in range(10):
    model.train()
    for x, y in loader:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        optimizer.zero_grad()
        with torch.cuda.amp.autocast(dtype=torch.bfloat16): #@
            loss = criterion(model(x), y)
        scaler.scale(loss).backward() #@
        scaler.unscale_(optimizer) #@
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer) #@
        scaler.update() #@
    print(epoch, loss.item())
