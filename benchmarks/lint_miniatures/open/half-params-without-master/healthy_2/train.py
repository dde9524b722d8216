import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def export_half(model, path):
    deploy = copy.deepcopy(model).eval().half()
    torch.save(deploy.state_dict(), path)


def main():
    model = nn.Sequential(nn.Linear(20, 128), nn.SiLU(), nn.Linear(128, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(4000, 20), torch.randn(4000, 1))
    loader = DataLoader(data, batch_size=128, shuffle=True)
    for epoch in range(15):
        model.train()
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
    export_half(model, "model_fp16.pt")


if __name__ == "__main__":
    main()
