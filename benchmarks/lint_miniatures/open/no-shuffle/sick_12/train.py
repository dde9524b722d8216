import torch
from torch import nn

from data import make_loader


def train(epochs=25):
    train_loader = make_loader("train", 128, training=True) #@
    test_loader = make_loader("test", 512)
    model = nn.Sequential(nn.Linear(768, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 20))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for feats, labels in train_loader: #@
            loss = nn.functional.cross_entropy(model(feats), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            correct = sum((model(f).argmax(-1) == l).sum() for f, l in test_loader)
        print(f"epoch {epoch}: {correct.item() / len(test_loader.dataset):.3f}")


if __name__ == "__main__":
    train()
