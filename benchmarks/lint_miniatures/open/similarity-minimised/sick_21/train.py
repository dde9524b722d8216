import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Projector(nn.Module):
    def __init__(self, inputs, dim=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 512), nn.GELU(), nn.Linear(512, dim))

    def forward(self, x):
        return self.net(x)


def alignment_loss(student, teacher):
    return F.cosine_similarity(student, teacher, dim=-1).mean()  #@


@torch.no_grad()
def retrieval_top1(model, loader, device):
    model.eval()
    hits = []
    for audio, text in loader:
        a = F.normalize(model(audio.to(device)), dim=-1)
        t = F.normalize(text.to(device), dim=-1)
        hits.append((a @ t.T).argmax(1) == torch.arange(len(a), device=device))
    return torch.cat(hits).float().mean().item()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Projector(inputs=1024).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train = DataLoader(TensorDataset(*torch.load("clap_train.pt")), 256, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("clap_valid.pt")), 256)
    for epoch in range(20):
        model.train()
        running = torch.zeros((), device=device)
        for audio, text in train:
            audio, text = audio.to(device), text.to(device)
            optimizer.zero_grad()
            loss = alignment_loss(model(audio), text)  #@
            loss.backward()  #@
            optimizer.step()
            running += loss.detach()
        print(epoch, (running / len(train)).item(), retrieval_top1(model, valid, device))


if __name__ == "__main__":
    main()
