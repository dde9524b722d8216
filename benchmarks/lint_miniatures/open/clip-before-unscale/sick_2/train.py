import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def clip_gradients(model, max_norm): #@
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
    coef = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(coef) #@


def train_epoch(model, loader, opt, scaler, max_norm):
    model.train()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad(set_to_none=True)
        scaler.scale(loss).backward() #@
        clip_gradients(model, max_norm) #@
        scaler.step(opt) #@
        scaler.update()
    return loss.item()


def main():
    loader = DataLoader(TensorDataset(torch.randn(2000, 16), torch.randn(2000, 4)), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 4)).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(20):
        print(epoch, train_epoch(model, loader, opt, scaler, 0.5))


if __name__ == "__main__":
    main()
