import torch
import torch.nn.functional as F
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms


class Distiller:
    def __init__(self, teacher, student, device, temperature=4.0, alpha=0.7):
        self.device = device
        self.teacher = teacher.to(device).half().eval().requires_grad_(False)
        self.student = student.to(device)
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.05, momentum=0.9)
        self.temperature, self.alpha = temperature, alpha

    def soft_loss(self, logits, soft):
        t = self.temperature
        return F.kl_div(F.log_softmax(logits / t, 1), F.log_softmax(soft / t, 1),
                        reduction="batchmean", log_target=True) * t * t

    def train_epoch(self, loader):
        self.student.train()
        for x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            with torch.no_grad():
                soft = self.teacher(x.half()).float()
            logits = self.student(x)
            loss = self.alpha * self.soft_loss(logits, soft) + (1 - self.alpha) * F.cross_entropy(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def accuracy(self, loader):
        self.student.eval()
        hits = [(self.student(x.to(self.device)).argmax(1).cpu() == y).float() for x, y in loader]
        return torch.cat(hits).mean().item()


def main():
    torch.manual_seed(0)
    norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    aug = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(),
                              transforms.ToTensor(), norm])
    plain = transforms.Compose([transforms.ToTensor(), norm])
    train = torchvision.datasets.CIFAR10("data", True, aug, download=True)
    test = torchvision.datasets.CIFAR10("data", False, plain, download=True)
    teacher = torchvision.models.resnet50(num_classes=10)
    teacher.load_state_dict(torch.load("teacher_cifar10.pt", map_location="cpu"))
    student = torchvision.models.resnet18(num_classes=10)
    distiller = Distiller(teacher, student, torch.device("cuda"))
    train_loader = DataLoader(train, 128, shuffle=True, num_workers=4, drop_last=True)
    test_loader = DataLoader(test, 256, num_workers=4)
    for epoch in range(60):
        distiller.train_epoch(train_loader)
        print(epoch, distiller.accuracy(test_loader))


if __name__ == "__main__":
    main()
