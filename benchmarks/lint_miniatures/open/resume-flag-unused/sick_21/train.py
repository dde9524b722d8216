import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_parser():
    parser = argparse.ArgumentParser(description="Train the traffic-sign classifier")
    parser.add_argument("--data", default="signs.pt")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--resume", type=str, default=None, help="checkpoint to continue from")  #@
    parser.add_argument("--output", default="signs_last.pt")
    return parser


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict()}, path)


def main():
    args = get_parser().parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    blob = torch.load(args.data)
    train = DataLoader(TensorDataset(*blob["train"]), args.batch_size, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*blob["valid"]), args.batch_size)
    model = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.Conv2d(32, 64, 3, 2), nn.BatchNorm2d(64), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 43)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    start_epoch = 0  #@
    for epoch in range(start_epoch, args.epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in valid]
        print(epoch, torch.cat(hits).mean().item())
        save_checkpoint(args.output, epoch, model, optimizer, scheduler)


if __name__ == "__main__":
    main()
