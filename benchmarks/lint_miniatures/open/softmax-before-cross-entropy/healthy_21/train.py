import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Policy(nn.Module):
    def __init__(self, obs=24, actions=6, width=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, actions)

    def forward(self, obs):
        return self.head(self.body(obs))

    @torch.no_grad()
    def probabilities(self, obs):
        return F.softmax(self(obs), dim=-1)


class SoftTargetLoss(nn.Module):
    """Cross entropy against the softmax of an expert's action values."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits, action_values):
        target = torch.softmax(action_values / self.temperature, dim=-1)
        return F.cross_entropy(logits, target)


def evaluate(policy, loader, device):
    policy.eval()
    confidence, agree = [], []
    for obs, values in loader:
        probs = policy.probabilities(obs.to(device)).cpu()
        confidence.append(probs.amax(-1))
        agree.append((probs.argmax(-1) == values.argmax(-1)).float())
    return torch.cat(agree).mean().item(), torch.cat(confidence).mean().item()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy = Policy().to(device)
    criterion = SoftTargetLoss(temperature=0.5)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    train = DataLoader(TensorDataset(*torch.load("expert_train.pt")), 256, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("expert_valid.pt")), 512)
    for epoch in range(40):
        policy.train()
        for obs, values in train:
            optimizer.zero_grad()
            loss = criterion(policy(obs.to(device)), values.to(device))
            loss.backward()
            optimizer.step()
        print(epoch, *evaluate(policy, valid, device))


if __name__ == "__main__":
    main()
