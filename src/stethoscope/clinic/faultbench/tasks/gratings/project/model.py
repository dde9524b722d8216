"""A small convolutional classifier."""

import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 8


def block(inputs: int, outputs: int) -> nn.Sequential:
    """A convolution with its norm, at half the size."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Classifier(nn.Module):
    """Three blocks, a mean over the picture, and one linear layer."""

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 4 * width))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(4 * width, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        features = self.body(images)
        pooled = F.adaptive_avg_pool2d(features, 1).flatten(1)
        return self.head(self.dropout(pooled))
