import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def train(backbone, head, loader, epochs):
    params = [*backbone.parameters(), *head.parameters()]
    opt = torch.optim.AdamW(params, lr=5e-4)
    for epoch in range(epochs):
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                feat = backbone(x.float())
            logits = head(F.normalize(feat.float(), dim=-1))
            loss = F.cross_entropy(logits / 0.05, y)
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    data = TensorDataset(torch.randint(0, 256, (5000, 300), dtype=torch.uint8), torch.randint(0, 20, (5000,)))
    loader = DataLoader(data, batch_size=256, shuffle=True)
    backbone = nn.Sequential(nn.BatchNorm1d(300), nn.Linear(300, 128), nn.ReLU(), nn.Linear(128, 64)).cuda()
    train(backbone, nn.Linear(64, 20, bias=False).cuda(), loader, epochs=10)
