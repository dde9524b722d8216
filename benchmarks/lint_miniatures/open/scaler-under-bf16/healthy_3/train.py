import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    correct = torch.zeros((), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for x, y in loader:
            correct += (model(x.cuda()).argmax(1) == y.cuda()).sum()
    model.train()
    return correct.item() / len(loader.dataset)


data = TensorDataset(torch.randn(6000, 50), torch.randint(0, 4, (6000,)))
train_set, val_set = random_split(data, [5000, 1000])
train_loader = DataLoader(train_set, batch_size=128, shuffle=True)
val_loader = DataLoader(val_set, batch_size=512)
model = nn.Sequential(nn.Linear(50, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 4)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
model.train()
for epoch in range(10):
    for x, y in train_loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(epoch, evaluate(model, val_loader))
