import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter


def log_scalars(writer, step, **values): #@
    for name, value in values.items():
        writer.add_scalar(f"train/{name}", value.detach().cpu().numpy(), step) #@


def train(model, loader, optimizer, writer, epochs):
    step = 0
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            log_scalars(writer, step, loss=loss, grad_norm=grad_norm) #@
            step += 1


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(20000, 32), torch.randn(20000, 8))
    loader = DataLoader(ds, batch_size=64, shuffle=True, pin_memory=True)
    model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
    train(model, loader, torch.optim.AdamW(model.parameters(), lr=1e-3), SummaryWriter("runs/exp"), 10)
