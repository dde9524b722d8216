import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GeometryHead(nn.Module):
    def __init__(self, width=128, points=21):
        super().__init__()
        self.reduce = nn.Conv2d(width, width, 1)
        self.out = nn.Linear(width, 3 * points)

    def forward(self, feats):
        feats = feats.float()  #@
        h = self.reduce(feats).mean((2, 3))  #@
        return self.out(h).unflatten(1, (-1, 3))  #@


class HandPose(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 64, 5, 2, 2), nn.BatchNorm2d(64), nn.ReLU(),
                                      nn.Conv2d(64, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.head = GeometryHead(width)

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = HandPose().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    scaler = torch.amp.GradScaler("cuda")
    train = DataLoader(TensorDataset(*torch.load("hands_train.pt")), 32, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*torch.load("hands_valid.pt")), 64)
    for epoch in range(40):
        model.train()
        for image, joints in train:
            image, joints = image.to(device), joints.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):  #@
                pred = model(image)
                loss = F.smooth_l1_loss(pred, joints)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        with torch.no_grad():
            errors = [(model(i.to(device)) - j.to(device)).norm(dim=-1).mean() for i, j in valid]
        print(epoch, torch.stack(errors).mean().item())


if __name__ == "__main__":
    main()
