"""The score network: a small transformer that sees the noisy sequence and how noisy it is."""

import math
from types import SimpleNamespace

import torch
from torch import Tensor, nn


class SEDD(nn.Module):
    """Gives, for every position, the log-score of every token."""

    def __init__(self, model: SimpleNamespace, tokens: int, max_length: int) -> None:
        super().__init__()
        self.tokens = tokens
        self.scale_by_sigma = model.scale_by_sigma
        self.embed = nn.Embedding(tokens + 1, model.hidden_size)
        self.position = nn.Parameter(0.02 * torch.randn(max_length, model.hidden_size))
        self.embed_sigma = nn.Sequential(
            nn.Linear(2, model.hidden_size), nn.SiLU(), nn.Linear(model.hidden_size, model.hidden_size)
        )
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                model.hidden_size,
                model.n_heads,
                dim_feedforward=2 * model.hidden_size,
                dropout=0.0,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(model.n_blocks)
        )
        self.norm = nn.LayerNorm(model.hidden_size)
        self.output = nn.Linear(model.hidden_size, tokens)
        for parameter in self.output.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        """Return log-scores shaped BLK for the sequences `x` at the noise `sigma` of each."""
        noise = torch.stack([sigma, torch.log(torch.expm1(sigma))], dim=1)
        h: Tensor = self.embed(x) + self.position + self.embed_sigma(noise)[:, None, :]
        for block in self.blocks:
            h = block(h)
        log_score: Tensor = self.output(self.norm(h))
        if self.scale_by_sigma:
            # Without knowledge, the score of a masked token is this.
            log_score = log_score - torch.log(torch.expm1(sigma))[:, None, None] - math.log(self.tokens)
        return log_score
