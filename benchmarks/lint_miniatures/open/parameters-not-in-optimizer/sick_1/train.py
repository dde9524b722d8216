import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
encoder = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 16)).to(device)
decoder = nn.Sequential(nn.Linear(16, 80), nn.ReLU(), nn.Linear(80, 40)).to(device) #@
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3) #@
criterion = nn.MSELoss()
loader = DataLoader(TensorDataset(torch.randn(3000, 40)), batch_size=60, shuffle=True)

for epoch in range(20):
    encoder.train()
    decoder.train()
    for (x,) in loader:
        x = x.to(device)
        loss = criterion(decoder(encoder(x)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")

torch.save({"encoder": encoder.state_dict(), "decoder": decoder.state_dict()}, "ae.pt")
print("saved ae.pt")
print(sum(p.numel() for p in encoder.parameters()), "parameters")
