import torch
import torch.nn.functional as F
from torch import nn
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


class MatteNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(),
                                 nn.Conv2d(width, width, 3, 1, 1), nn.ReLU())
        self.dec = nn.Sequential(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(),
                                 nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        return self.dec(self.enc(x))


def main():
    torch.manual_seed(0)
    model = MatteNet().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.3)
    scaler = GradScaler()
    train = DataLoader(TensorDataset(*torch.load("matte_train.pt")), 16, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("matte_valid.pt")), 16)

    for epoch in range(60):
        model.train()
        for image, alpha in train:
            image, alpha = image.cuda(non_blocking=True), alpha.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = F.binary_cross_entropy_with_logits(model(image), alpha)
            scaler.scale(loss).backward()  #@
            optimizer.step()  #@
        scheduler.step()

        model.eval()
        errors = []
        with torch.no_grad():
            for image, alpha in valid:
                with autocast():
                    out = model(image.cuda())
                errors.append((out.float().sigmoid() - alpha.cuda()).abs().mean())
        print(f"epoch {epoch} mad {torch.stack(errors).mean().item():.4f}")


if __name__ == "__main__":
    main()
