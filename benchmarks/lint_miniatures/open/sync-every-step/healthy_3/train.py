import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def collate(batch):
    lengths = torch.tensor([int(item[1].item()) for item in batch])
    x = torch.stack([item[0] for item in batch])
    mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
    return x, mask.float()


def main():
    ds = TensorDataset(torch.randn(4000, 20), torch.randint(5, 20, (4000,)))
    loader = DataLoader(ds, batch_size=40, shuffle=True, collate_fn=collate, num_workers=2)
    model = nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 20)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for x, mask in loader:
            x, mask = x.cuda(), mask.cuda()
            optimizer.zero_grad()
            loss = ((model(x * mask) - x).pow(2) * mask).sum() / mask.sum()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
