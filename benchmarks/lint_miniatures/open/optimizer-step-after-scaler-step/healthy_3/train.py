import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(epochs=10):
    loader = DataLoader(TensorDataset(torch.randn(960, 16), torch.randn(960, 2)), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        print(epoch, loss.item(), scheduler.get_last_lr()[0])
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
