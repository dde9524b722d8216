"""A small convolutional network with batch norm."""

from __future__ import annotations

from torch import Tensor, nn


def block(channels: int, out: int) -> nn.Sequential:
    """A convolution that halves the picture."""
    return nn.Sequential(
        nn.Conv2d(channels, out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()
    )


class StripeNet(nn.Module):
    """Three convolutions and two linear layers, for pictures of 16 x 16 pixels."""

    def __init__(self, width: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.features = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 4 * width))
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(16 * width, 8 * width),
            nn.ReLU(),
            nn.Linear(8 * width, classes),
        )

    def forward(self, pictures: Tensor) -> Tensor:
        """The scores of the classes."""
        scores: Tensor = self.head(self.features(pictures))
        return scores
