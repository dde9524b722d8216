import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def apply_update(loss, optimizer, scheduler):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step() #@
    scheduler.step()


def train(model, loader, optimizer, scheduler, grad_clip, epochs):
    for epoch in range(epochs):
        model.train()
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.l1_loss(model(x), y)
            apply_update(loss, optimizer, scheduler) #@
            gnorm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip) #@
            if i % 100 == 0:
                print(f"{epoch}:{i} loss {loss.item():.3f} gnorm {gnorm.item():.3f}")


if __name__ == "__main__":
    epochs = 6
    loader = DataLoader(TensorDataset(torch.randn(6400, 9), torch.randn(6400, 2)), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(9, 90), nn.ELU(), nn.Linear(90, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(loader))
    train(model, loader, optimizer, scheduler, grad_clip=1.0, epochs=epochs)
