import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

from module import SpeechCommandNet


def loader(name, train):
    blob = torch.load(f"features/{name}.pt")
    return DataLoader(TensorDataset(blob["mel"], blob["label"]), batch_size=64,
                      shuffle=train, num_workers=4)


def main():
    L.seed_everything(3, workers=True)
    keep = ModelCheckpoint(
        dirpath="ckpt",
        filename="best-{epoch}",
        monitor="loss/train",  #@
        mode="min",
        save_top_k=1,
    )
    trainer = L.Trainer(max_epochs=40, callbacks=[keep], gradient_clip_val=1.0)
    model = SpeechCommandNet()
    trainer.fit(model, loader("train", True), loader("valid", False))
    print("best checkpoint", keep.best_model_path)


if __name__ == "__main__":
    main()
