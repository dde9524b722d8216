import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(encoder, decoder, loader, epochs=30):
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3) #@
    encoder.train()
    decoder.train()
    for epoch in range(epochs):
        total = torch.zeros(())
        for (x,) in loader:
            recon = decoder(encoder(x)) #@
            loss = nn.functional.mse_loss(recon, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(f"epoch {epoch}: {total.item() / len(loader):.4f}")


def main():
    encoder = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10))
    decoder = nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 100)) #@
    loader = DataLoader(TensorDataset(torch.randn(6000, 100)), batch_size=60, shuffle=True)
    train(encoder, decoder, loader)
    torch.save({"encoder": encoder.state_dict(), "decoder": decoder.state_dict()}, "ae.pt")


if __name__ == "__main__":
    main()
