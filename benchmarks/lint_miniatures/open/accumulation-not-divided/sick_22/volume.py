import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepper import AccumulatingStepper

OPTIONS = {"epochs": 80, "batch_size": 1, "accumulate": 8, "lr": 0.01}


class VNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Conv3d(1, width, 3, padding=1), nn.InstanceNorm3d(width), nn.ReLU(),
                                 nn.Conv3d(width, width, 3, padding=1), nn.InstanceNorm3d(width),
                                 nn.ReLU(), nn.Conv3d(width, 1, 1))

    def forward(self, x):
        return self.net(x)


def dice_loss(logits, mask):
    p = logits.sigmoid()
    inter, total = (p * mask).sum((1, 2, 3, 4)), (p + mask).sum((1, 2, 3, 4))
    return (1 - (2 * inter + 1) / (total + 1)).mean()


def main(opt):
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = VNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=opt["lr"], momentum=0.99, nesterov=True)
    stepper = AccumulatingStepper(model, optimizer, opt["accumulate"])  #@
    train = DataLoader(TensorDataset(*torch.load("liver_train.pt")), opt["batch_size"], shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("liver_valid.pt")), opt["batch_size"])
    for epoch in range(opt["epochs"]):
        model.train()
        for scan, mask in train:
            logits = model(scan.to(device))
            mask = mask.to(device)
            stepper(dice_loss(logits, mask) + F.binary_cross_entropy_with_logits(logits, mask))  #@
        stepper.flush()
        model.eval()
        with torch.no_grad():
            scores = [1 - dice_loss(model(s.to(device)), m.to(device)) for s, m in valid]
        print(epoch, torch.stack(scores).mean().item())


if __name__ == "__main__":
    main(OPTIONS)
