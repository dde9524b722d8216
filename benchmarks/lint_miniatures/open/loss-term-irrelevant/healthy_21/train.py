import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WEIGHTS = {"sdf": 1.0, "eikonal": 0.1, "latent": 1e-4}


class DeepSDF(nn.Module):
    def __init__(self, shapes, latent=64, width=256):
        super().__init__()
        self.codes = nn.Embedding(shapes, latent)
        nn.init.normal_(self.codes.weight, std=1.0)
        self.net = nn.Sequential(nn.Linear(latent + 3, width), nn.Softplus(100),
                                 nn.Linear(width, width), nn.Softplus(100), nn.Linear(width, 1))

    def forward(self, shape, xyz):
        z = self.codes(shape)
        return self.net(torch.cat([z, xyz], dim=1)).squeeze(1), z


def compute_loss(model, shape, xyz, sdf):
    xyz = xyz.requires_grad_(True)
    pred, z = model(shape, xyz)
    grad = torch.autograd.grad(pred.sum(), xyz, create_graph=True)[0]
    parts = {
        "sdf": F.l1_loss(pred.clamp(-0.1, 0.1), sdf.clamp(-0.1, 0.1)),
        "eikonal": (grad.norm(dim=1) - 1).square().mean(),
        "latent": z.square().sum(1).mean(),
    }
    return sum(WEIGHTS[k] * v for k, v in parts.items()), parts


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = TensorDataset(*torch.load("sdf_samples.pt"))
    held_out = TensorDataset(*torch.load("sdf_heldout.pt"))
    loader = DataLoader(data, 8192, shuffle=True)
    valid_loader = DataLoader(held_out, 16384)
    model = DeepSDF(shapes=512).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for epoch in range(200):
        model.train()
        for shape, xyz, sdf in loader:
            optimizer.zero_grad()
            loss, _ = compute_loss(model, shape.to(device), xyz.to(device), sdf.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [F.l1_loss(model(i.to(device), p.to(device))[0], d.to(device))
                      for i, p, d in valid_loader]
        print(epoch, torch.stack(errors).mean().item())


if __name__ == "__main__":
    main()
