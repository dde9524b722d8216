import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Inpainter(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, width, 5, padding=2), nn.ReLU(),
                                 nn.Conv2d(width, width, 5, padding=2), nn.ReLU(),
                                 nn.Conv2d(width, 3, 5, padding=2))

    def forward(self, image, mask):
        hole = image * (1 - mask)
        return hole + mask * self.net(torch.cat([hole, mask], dim=1))


@torch.no_grad()
def update_ema(ema, model, decay=0.999):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(decay).add_(p, alpha=1 - decay)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    errors = [F.l1_loss(model(x.to(device), m.to(device)), x.to(device)) for x, m in loader]
    return torch.stack(errors).mean().item()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Inpainter().to(device)
    ema_model = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    train = DataLoader(TensorDataset(*torch.load("holes_train.pt")), 16, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("holes_valid.pt")), 16)
    best = float("inf")
    for epoch in range(60):
        model.train()
        for image, mask in train:
            image, mask = image.to(device), mask.to(device)
            optimizer.zero_grad()
            loss = F.l1_loss(model(image, mask), image)
            loss.backward()
            optimizer.step()
            update_ema(ema_model, model)  #@
        score = evaluate(model, valid, device)  #@
        print(epoch, score)
        if score < best:
            best = score
            torch.save(model.state_dict(), "inpainter_best.pt")  #@


if __name__ == "__main__":
    main()
