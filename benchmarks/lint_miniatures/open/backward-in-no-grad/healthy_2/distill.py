import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(20, 10)

    @torch.no_grad()
    def forward(self, x):
        return self.net(x).softmax(-1)


def main():
    teacher = Teacher().eval()
    teacher.load_state_dict(torch.load("teacher.pt"))
    student = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(2000, 20)), batch_size=50, shuffle=True)
    for epoch in range(10):
        student.train()
        for (x,) in loader:
            target = teacher(x)
            loss = nn.functional.kl_div(student(x).log_softmax(-1), target, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
