import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128))
teacher.load_state_dict(torch.load("teacher.pt"))
teacher.eval().requires_grad_(False)
student = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 128))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(6000, 64)), batch_size=128, shuffle=True)

for epoch in range(20):
    student.train()
    for (x,) in loader:
        with torch.no_grad():
            target = teacher(x)
        similarity = F.cosine_similarity(student(x), target, dim=-1).mean()
        loss = 1 - similarity
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} similarity {similarity.item():.4f}")

torch.save(student.state_dict(), "student.pt")
