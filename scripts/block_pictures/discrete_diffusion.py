"""A curriculum raises the loss of a model that learns; chance and a fixed difficulty tell the truth."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stethoscope.blocks.discrete_diffusion import (
    AbsorbingProcess,
    CosineNoise,
    ScoreNetwork,
    absorbing_loss,
    chance_level,
    evaluate_at_shares,
)
from stethoscope.figures.chart import Chart, Line

TOKENS, LENGTH, BATCH, STEPS, EVERY = 20, 32, 64, 400, 10
CURRICULUM = 150  # steps until times are drawn from the whole range


def picture() -> Chart:
    """Train a small model with a curriculum; show its loss, what chance would be, and what it has learned."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    process = AbsorbingProcess(TOKENS, CosineNoise(1e-4, 0.8))
    model = ScoreNetwork(Network())
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    test = sequences(256, torch.Generator().manual_seed(2))
    steps, losses, chances, fixed = [], [], [], []
    for step in range(STEPS):
        difficulty = min(1.0, 0.1 + 0.9 * step / CURRICULUM)
        if step % EVERY == 0:
            scores = evaluate_at_shares(process, model, test)
            fixed.append(sum(score.ratio for score in scores) / len(scores))
            steps.append(step)
            chances.append(chance_level(process, difficulty))
        clean = sequences(BATCH, generator)
        loss = absorbing_loss(process, model, clean, difficulty=difficulty, generator=generator).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # Each point is the mean of the steps since the one before.
    means = torch.tensor(losses).view(-1, EVERY).mean(1)
    return Chart(
        title="The loss rises because the task gets harder",
        x_label="step",
        y_label="loss (nats); ratio to chance",
        lines=[
            Line("training loss", [step + EVERY for step in steps], means, tone="bad"),
            Line("chance at that difficulty", steps, chances, style="dashed", tone="muted"),
            Line("ratio to chance, at fixed difficulties", steps, fixed, tone="good"),
        ],
        y_limits=(0.0, None),
        note=f"A curriculum widens the times from the first tenth to all, until step {CURRICULUM}.",
    )


class Network(nn.Module):
    """Convolutions that see a few neighbours, told the noise."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS + 1, 48)
        self.noise = nn.Linear(1, 48)
        self.layers = nn.Sequential(
            nn.Conv1d(48, 64, 5, padding=2), nn.SiLU(), nn.Conv1d(64, 64, 5, padding=2), nn.SiLU()
        )
        self.output = nn.Conv1d(64, TOKENS, 1)
        # Zero logits are chance, which is where an honest training begins.
        nn.init.zeros_(self.output.weight)

    def forward(self, tokens: Tensor, sigma: Tensor) -> Tensor:
        """Give the logits of every token."""
        x = self.embed(tokens) + self.noise(sigma[:, None])[:, None, :]
        logits: Tensor = self.output(self.layers(x.transpose(1, 2)))
        return logits.transpose(1, 2)


def sequences(count: int, generator: torch.Generator) -> Tensor:
    """Chains in which a token is mostly followed by one of three."""
    tokens = torch.randint(0, TOKENS, (count, LENGTH), generator=generator)
    for place in range(1, LENGTH):
        step = torch.randint(1, 4, (count,), generator=generator)
        follows = torch.rand(count, generator=generator) < 0.9
        chained = (7 * tokens[:, place - 1] + step) % TOKENS
        tokens[:, place] = torch.where(follows, chained, tokens[:, place])
    return tokens
