import torch.nn as nn


class FP32Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module.float() #@

    def forward(self, x):
        return self.module(x.float()) #@
