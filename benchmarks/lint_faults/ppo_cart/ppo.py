"""PPO on a pole that wants to fall, without a simulator package."""
import random
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class Args:
    seed: int = 1
    num_envs: int = 8
    num_steps: int = 16
    total_updates: int = 4
    update_epochs: int = 2
    num_minibatches: int = 4
    learning_rate: float = 2.5e-4
    anneal_lr: bool = True
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


class Poles:
    """Many independent poles, integrated with Euler steps."""

    def __init__(self, n):
        self.n = n
        self.state = 0.1 * torch.randn(n, 4)

    def step(self, action):
        x, v, a, w = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        acc = (9.8 * a.sin() - a.cos() * force * 0.1) / 0.6
        self.state = torch.stack([x + 0.02 * v, v + 0.02 * force, a + 0.02 * w, w + 0.02 * acc], 1)
        done = (self.state[:, 2].abs() > 0.21) | (self.state[:, 0].abs() > 2.4)
        self.state = torch.where(done[:, None], 0.1 * torch.randn(self.n, 4), self.state)
        return self.state, torch.ones(self.n), done.float()


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), 1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 2), 0.01))

    def get_value(self, x):
        return self.critic(x).squeeze(-1)

    def act(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        action = dist.sample() if action is None else action
        return action, dist.log_prob(action), dist.entropy(), self.get_value(x)


def rollout(agent, env, obs, args):
    keep = {k: [] for k in ("obs", "actions", "logprobs", "rewards", "dones", "values")}
    for _ in range(args.num_steps):
        with torch.no_grad():
            action, logprob, _, value = agent.act(obs)
        next_obs, reward, done = env.step(action)
        for key, val in zip(keep, (obs, action, logprob, reward, done, value)):
            keep[key].append(val)
        obs = next_obs
    return {k: torch.stack(v) for k, v in keep.items()}, obs


@torch.no_grad()
def advantages(agent, batch, last_obs, args):
    adv = torch.zeros_like(batch["rewards"])
    running, next_value = 0.0, agent.get_value(last_obs)
    for t in reversed(range(args.num_steps)):
        alive = 1.0 - batch["dones"][t]
        delta = batch["rewards"][t] + args.gamma * next_value * alive - batch["values"][t]
        running = delta + args.gamma * args.gae_lambda * alive * running
        adv[t] = running
        next_value = batch["values"][t]
    return adv, adv + batch["values"]


def main(args):
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    env = Poles(args.num_envs)
    obs = env.state
    policy_losses = []
    for update in range(args.total_updates):
        if args.anneal_lr:
            optimizer.param_groups[0]["lr"] = args.learning_rate * (1.0 - update / args.total_updates)
        data, obs = rollout(agent, env, obs, args)
        adv, returns = advantages(agent, data, obs, args)
        flat = {k: v.flatten(0, 1) for k, v in data.items()}
        adv, returns = adv.flatten(), returns.flatten()

        for _ in range(args.update_epochs):
            for idx in torch.randperm(adv.numel()).chunk(args.num_minibatches):
                _, logprob, entropy, value = agent.act(flat["obs"][idx], flat["actions"][idx])
                logratio = logprob - flat["logprobs"][idx]
                ratio = logratio.exp()
                mb_adv = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(mb_adv * ratio, mb_adv * clipped).mean()
                v_loss = 0.5 * (value - returns[idx]).square().mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
                policy_losses.append(pg_loss.detach())
        print(f"update {update}: return {returns.mean().item():.2f} "
              f"policy {torch.stack(policy_losses[-args.num_minibatches:]).mean().item():.4f}")
    torch.save({"agent": agent.state_dict(), "args": asdict(args)}, "ppo.pt")


if __name__ == "__main__":
    main(Args())
