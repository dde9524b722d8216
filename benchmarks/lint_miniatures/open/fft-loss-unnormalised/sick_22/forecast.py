import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from losses import AmplitudeLoss, CompositeLoss


class Windows(Dataset):
    def __init__(self, path, past=336, future=96):
        self.series = torch.load(path)
        self.past, self.future = past, future

    def __len__(self):
        return len(self.series) - self.past - self.future + 1

    def __getitem__(self, i):
        mid = i + self.past
        return {"past": self.series[i:mid], "labels": self.series[mid:mid + self.future]}


class LinearForecaster(nn.Module):
    def __init__(self, past=336, future=96):
        super().__init__()
        self.proj = nn.Linear(past, future)
        self.criterion = CompositeLoss({"mse": nn.MSELoss(), "spectrum": AmplitudeLoss(0.5)})  #@

    def forward(self, past, labels=None):
        mean = past.mean(1, keepdim=True)
        pred = self.proj((past - mean).transpose(1, 2)).transpose(1, 2) + mean
        return {"loss": self.criterion(pred, labels), "logits": pred}


def mse(eval_pred):
    return {"mse": float(((eval_pred.predictions - eval_pred.label_ids) ** 2).mean())}


if __name__ == "__main__":
    set_seed(42)
    args = TrainingArguments("out", num_train_epochs=10, learning_rate=1e-3,
                             per_device_train_batch_size=64, eval_strategy="epoch")
    trainer = Trainer(LinearForecaster(), args, train_dataset=Windows("etth1_train.pt"),
                      eval_dataset=Windows("etth1_valid.pt"), compute_metrics=mse)
    trainer.train()
