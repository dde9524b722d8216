import click
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from trainer import Trainer


@click.command()
@click.option("--lr", default=3e-4)
@click.option("--epochs", default=50)
@click.option("--resume", default=None, help="checkpoint to continue from") #@
def main(lr, epochs, resume):
    data = TensorDataset(torch.randn(3000, 40), torch.randint(0, 6, (3000,)))
    loader = DataLoader(data, batch_size=32, shuffle=True)
    trainer = Trainer(nn.Linear(40, 6), loader, lr, epochs, resume_path=resume) #@
    trainer.train() #@


if __name__ == "__main__":
    main()
