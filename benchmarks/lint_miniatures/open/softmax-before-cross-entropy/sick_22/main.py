import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset

from heads import SlideClassifier


def train_step(fabric, model, optimizer, tiles, label, class_weight):
    out = model(tiles)
    loss = F.cross_entropy(out["probs"], label, weight=class_weight)  #@
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()


def main():
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    model = SlideClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer = fabric.setup(model, optimizer)
    train_set = TensorDataset(*torch.load("slides_train.pt"))
    counts = torch.bincount(train_set.tensors[1]).float()
    class_weight = (counts.sum() / (len(counts) * counts)).to(fabric.device)
    train, valid = fabric.setup_dataloaders(
        DataLoader(train_set, 8, shuffle=True),
        DataLoader(TensorDataset(*torch.load("slides_valid.pt")), 8))
    for epoch in range(30):
        model.train()
        for tiles, label in train:
            train_step(fabric, model, optimizer, tiles, label, class_weight)
        model.eval()
        with torch.no_grad():
            hits = torch.cat([(model(t)["pred"] == y).float() for t, y in valid])
        fabric.print(f"{epoch}: {hits.mean():.4f}")


if __name__ == "__main__":
    main()
