import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def backprop(loss, optimizer, scaler): #@
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer) #@
    scaler.update()


def train(model, loader, optimizer, scheduler, scaler, epochs):
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            backprop(loss, optimizer, scaler) #@
            optimizer.step() #@
        scheduler.step()
        print(epoch, loss.item(), scheduler.get_last_lr())


if __name__ == "__main__":
    model = nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    scaler = torch.amp.GradScaler("cuda")
    ds = TensorDataset(torch.randn(1000, 10), torch.randn(1000, 1))
    train(model, DataLoader(ds, batch_size=50, shuffle=True), optimizer, scheduler, scaler, epochs=20)
