import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from amp import Precision


class Reader(nn.Module):
    def __init__(self, vocab=12000, width=200, answers=500):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.question = nn.GRU(width, width, batch_first=True)
        self.image = nn.Linear(2048, width)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(width, answers))

    def forward(self, image, question):
        q = self.question(self.embed(question))[1][-1]
        return self.head(torch.tanh(q) * torch.tanh(self.image(image)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--clip", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(0)
    precision = Precision(args.amp)
    model = Reader().cuda()
    optimizer = torch.optim.Adamax(model.parameters(), lr=2e-3)
    train = DataLoader(TensorDataset(*torch.load("vqa_train.pt")), 256, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("vqa_valid.pt")), 512)
    for epoch in range(args.epochs):
        model.train()
        for batch in train:
            image, question, answer = (t.cuda() for t in batch)
            optimizer.zero_grad()
            with precision.context():
                loss = F.cross_entropy(model(image, question), answer)
            precision.backward(loss)
            precision.optimizer_step(optimizer, model.parameters(), args.clip)  #@
        model.eval()
        with torch.no_grad():
            hits = [(model(i.cuda(), q.cuda()).argmax(1).cpu() == a).float() for i, q, a in valid]
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
