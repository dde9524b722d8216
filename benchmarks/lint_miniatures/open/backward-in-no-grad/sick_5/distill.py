import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DistillLoss(nn.Module):
    def __init__(self, teacher, student, temperature=2.0):
        super().__init__()
        self.teacher, self.student, self.t = teacher, student, temperature

    def forward(self, x):
        with torch.no_grad(): #@
            target = (self.teacher(x) / self.t).softmax(-1)
            log_prob = (self.student(x) / self.t).log_softmax(-1) #@
        return nn.functional.kl_div(log_prob, target, reduction="batchmean") * self.t**2


def mlp(hidden):
    return nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def main():
    teacher, student = mlp(256), mlp(32)
    teacher.load_state_dict(torch.load("teacher.pt"))
    teacher.eval()
    loader = DataLoader(TensorDataset(torch.randn(3000, 20)), batch_size=60, shuffle=True)
    criterion = DistillLoss(teacher, student)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
    for epoch in range(10):
        student.train()
        for (x,) in loader:
            optimizer.zero_grad()
            loss = criterion(x) #@
            loss.backward() #@
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
