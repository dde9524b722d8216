import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

teacher = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 100)).cuda().half().eval()
teacher.load_state_dict(torch.load("teacher.pt"))
teacher.requires_grad_(False)
student = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 100)).cuda()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(10000, 64)), batch_size=128, shuffle=True)


def soft_targets(logits, temperature):
    return torch.softmax(logits.float() / temperature, dim=1)


student.train()
for epoch in range(20):
    for (x,) in loader:
        x = x.cuda()
        with torch.no_grad():
            target = soft_targets(teacher(x.half()), 2.0)
        log_prob = nn.functional.log_softmax(student(x) / 2.0, dim=1)
        loss = 4.0 * nn.functional.kl_div(log_prob, target, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
