"""The classifier."""

from torch import nn


def stage(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class GratingNet(nn.Module):
    def __init__(self, width=12, classes=8):
        super().__init__()
        self.stages = nn.Sequential(stage(1, width), stage(width, 2 * width), stage(2 * width, 4 * width))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, x):
        features = self.stages(x)
        return self.fc(self.pool(features).flatten(1))
