import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ScaledLoss:
    def __init__(self, init_scale=2.0**16):
        self.scaler = torch.amp.GradScaler("cuda", init_scale=init_scale)

    def backward(self, loss):
        self.scaler.scale(loss).backward() #@


def main():
    cfg = dict(lr=1e-4, epochs=10, accum=4, batch=16)
    ds = TensorDataset(torch.randn(1024, 48), torch.randn(1024, 48))
    loader = DataLoader(ds, batch_size=cfg["batch"], shuffle=True)
    model = nn.TransformerEncoderLayer(48, 4, batch_first=True).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    amp = ScaledLoss()
    for epoch in range(cfg["epochs"]):
        model.train()
        for it, (src, tgt) in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16):
                out = model(src.cuda().unsqueeze(1)).squeeze(1)
                loss = nn.functional.mse_loss(out, tgt.cuda())
            amp.backward(loss / cfg["accum"]) #@
            if (it + 1) % cfg["accum"] == 0:
                optimizer.step() #@
                optimizer.zero_grad(set_to_none=True)
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
