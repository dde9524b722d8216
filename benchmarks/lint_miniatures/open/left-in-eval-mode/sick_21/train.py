import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class PointNet(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.point = nn.Sequential(
            nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Conv1d(64, 256, 1), nn.BatchNorm1d(256), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.4), nn.Linear(128, classes))

    def forward(self, xyz):
        return self.head(self.point(xyz.transpose(1, 2)).amax(-1))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()  #@
    right, seen = 0, 0
    for xyz, label in loader:
        pred = model(xyz.to(device)).argmax(1).cpu()
        right += (pred == label).sum().item()
        seen += len(label)
    return right / seen  #@


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(TensorDataset(*torch.load("modelnet_train.pt")), 32, shuffle=True, drop_last=True)
    test = DataLoader(TensorDataset(*torch.load("modelnet_test.pt")), 64)
    model = PointNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step, max_steps, eval_every = 0, 30000, 500
    model.train()
    while step < max_steps:
        for xyz, label in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xyz.to(device)), label.to(device))
            loss.backward()
            optimizer.step()
            step += 1
            if step % eval_every == 0:
                acc = evaluate(model, test, device)  #@
                print(f"step {step}: test acc {acc:.3f}")
            if step == max_steps:
                break
    torch.save(model.state_dict(), "pointnet.pt")


if __name__ == "__main__":
    main()
