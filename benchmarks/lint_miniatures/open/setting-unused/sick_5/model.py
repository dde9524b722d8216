from torch import nn


class ConvNet(nn.Module):
    def __init__(self, width=32, num_classes=10, dropout=0.0):  #@
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(2 * width, num_classes))  #@

    def forward(self, x):
        return self.classifier(self.features(x))
