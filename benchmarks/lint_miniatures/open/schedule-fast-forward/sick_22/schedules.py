import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(optimizer, warmup_epochs, total_epochs, last_epoch=-1):
    def factor(epoch):
        if epoch < warmup_epochs:
            return (epoch + 1) / warmup_epochs
        t = min(1.0, (epoch - warmup_epochs) / (total_epochs - warmup_epochs))
        return 0.5 * (1 + math.cos(math.pi * t))

    return LambdaLR(optimizer, factor, last_epoch=last_epoch)
