import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def finish_step(model, optimizer, max_norm):
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(1000, 6), torch.randn(1000, 1)), batch_size=20, shuffle=True)
    policy = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    value = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    opt_p = torch.optim.Adam(policy.parameters(), lr=3e-4)
    opt_v = torch.optim.Adam(value.parameters(), lr=1e-3)
    for epoch in range(10):
        policy.train()
        value.train()
        for x, y in loader:
            opt_v.zero_grad()
            v_loss = nn.functional.mse_loss(value(x), y)
            v_loss.backward()
            finish_step(value, opt_v, 0.5)
            opt_p.zero_grad()
            p_loss = nn.functional.mse_loss(policy(x), y - value(x).detach())
            p_loss.backward()
            finish_step(policy, opt_p, 0.5)
        print(epoch, v_loss.item(), p_loss.item())


if __name__ == "__main__":
    main()
