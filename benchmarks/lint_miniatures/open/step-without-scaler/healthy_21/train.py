import argparse
import contextlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TinyUNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.a = nn.Conv2d(2, width, 3, padding=1)
        self.b = nn.Conv2d(width, width, 3, 2, 1)
        self.c = nn.ConvTranspose2d(width, width, 4, 2, 1)
        self.d = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.a(x))
        return self.d(torch.cat([a, F.relu(self.c(F.relu(self.b(a))))], dim=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"], default="fp16")
    parser.add_argument("--epochs", type=int, default=25)
    args = parser.parse_args()
    torch.manual_seed(0)
    dtype = {"fp32": None, "fp16": torch.float16, "bf16": torch.bfloat16}[args.precision]
    scaler = torch.amp.GradScaler("cuda") if dtype is torch.float16 else None

    def cast():
        return torch.autocast("cuda", dtype=dtype) if dtype else contextlib.nullcontext()

    model = TinyUNet().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("flood_train.pt")), 16, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("flood_valid.pt")), 16)
    for epoch in range(args.epochs):
        model.train()
        for x, m in train:
            optimizer.zero_grad(set_to_none=True)
            with cast():
                loss = F.binary_cross_entropy_with_logits(model(x.cuda()), m.cuda())
            if scaler is None:
                loss.backward()
                optimizer.step()
            else:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
        model.eval()
        with torch.no_grad(), cast():
            hits = [((model(x.cuda()) > 0) == m.cuda().bool()).float().mean() for x, m in valid]
        print(epoch, torch.stack(hits).mean().item())


if __name__ == "__main__":
    main()
