import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class MLPMixer(nn.Module):
    def __init__(self, tokens=64, dim=128, classes=100):
        super().__init__()
        self.embed = nn.Linear(48, dim)
        self.token = nn.Sequential(nn.Linear(tokens, 4 * tokens), nn.GELU(), nn.Linear(4 * tokens, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, patches):
        x = self.embed(patches)
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channel(self.norm2(x))
        return self.head(x.mean(1))


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--dtype", choices=DTYPES, default="bf16")  #@
    p.add_argument("--lr", type=float, default=3e-5)
    p.add_argument("--epochs", type=int, default=20)
    return p.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(0)
    dtype = DTYPES[args.dtype]
    model = MLPMixer().to(device="cuda", dtype=dtype)  #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)  #@
    train = DataLoader(TensorDataset(*torch.load("cifar_patches_train.pt")), 256, shuffle=True)
    test = DataLoader(TensorDataset(*torch.load("cifar_patches_test.pt")), 512)
    for epoch in range(args.epochs):
        model.train()
        for x, y in train:
            logits = model(x.to("cuda", dtype))
            loss = F.cross_entropy(logits.float(), y.cuda())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.to("cuda", dtype)).argmax(1).cpu() == y).float() for x, y in test]
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
