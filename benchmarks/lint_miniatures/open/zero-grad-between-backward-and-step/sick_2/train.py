import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def backward_pass(loss, optimizer): #@
    loss.backward() #@
    optimizer.zero_grad(set_to_none=False) #@


def step(model, batch, optimizer, scheduler):
    x, y = batch
    loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
    backward_pass(loss, optimizer) #@
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
    optimizer.step() #@
    scheduler.step()
    return loss.detach()


def main(epochs=8):
    torch.manual_seed(7)
    ds = TensorDataset(torch.randn(900, 5), torch.randn(900))
    loader = DataLoader(ds, batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    for epoch in range(epochs):
        model.train()
        losses = [step(model, b, optimizer, scheduler) for b in loader]
        print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
