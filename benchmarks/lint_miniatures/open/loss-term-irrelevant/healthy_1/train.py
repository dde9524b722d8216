import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

LAMBDA_SPARSE = 1e-4

encoder = nn.Sequential(nn.Linear(784, 1024), nn.ReLU())
decoder = nn.Linear(1024, 784)
params = list(encoder.parameters()) + list(decoder.parameters())
optimizer = torch.optim.Adam(params, lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(4000, 784)), batch_size=128, shuffle=True)

for epoch in range(30):
    for (x,) in loader:
        code = encoder(x)
        recon = F.mse_loss(decoder(code), x)
        sparsity = code.abs().sum(dim=1).mean()
        loss = recon + LAMBDA_SPARSE * sparsity
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{epoch}: recon {recon.item():.4f} sparsity {sparsity.item():.2f}")

torch.save({"encoder": encoder.state_dict(), "decoder": decoder.state_dict()}, "sae.pt")
