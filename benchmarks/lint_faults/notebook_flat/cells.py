# %% [markdown]
# # Flower petals, a first look

# %%
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# %% the data: four measurements, three species
centers = torch.tensor([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
labels = torch.arange(300) % 3
raw = centers[labels] + 0.3 * torch.randn(300, 4)

# %%
order = torch.randperm(300)
train_idx, test_idx = order[:225], order[225:]
mean, std = raw[train_idx].mean(0), raw[train_idx].std(0)
X_train = (raw[train_idx] - mean) / std
X_test = (raw[test_idx] - mean) / std
train_ds = TensorDataset(X_train, labels[train_idx])
test_ds = TensorDataset(X_test, labels[test_idx])
train_dl = DataLoader(train_ds, batch_size=15, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=75)

# %%
net = nn.Sequential(
    nn.Linear(4, 16),
    nn.BatchNorm1d(16),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(16, 3),
)
net = net.to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=5)
loss_fn = nn.CrossEntropyLoss()

# %%
history = []
for epoch in range(5):
    net.train()
    running = 0.0
    for xb, yb in train_dl:
        xb, yb = xb.to(device), yb.to(device)
        pred = net(xb)
        loss = loss_fn(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running = running + loss.detach()
    sched.step()

    net.eval()
    with torch.no_grad():
        correct = 0
        for xb, yb in test_dl:
            correct += (net(xb.to(device)).argmax(dim=1).cpu() == yb).sum().item()
    history.append((running.item() / len(train_dl), correct / len(test_ds)))
    print(epoch, history[-1])

# %%
torch.save({"net": net.state_dict(), "mean": mean, "std": std}, "petals.pt")

# %% does it work on a new flower?
net.eval()
flower = torch.tensor([[6.1, 2.9, 4.7, 1.4]])
with torch.no_grad():
    print(F.softmax(net(((flower - mean) / std).to(device)), dim=1))
