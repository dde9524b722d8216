import torch
import torch.nn.functional as F


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


@torch.inference_mode()
def evaluate(model, loader, device):  #@
    total = torch.zeros((), device=device)
    count = 0
    for x, y in loader:  #@
        x, y = x.to(device), y.to(device)
        total += F.mse_loss(model(x), y, reduction="sum")  #@
        count += y.numel()
    return (total / count).item()
