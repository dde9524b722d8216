import torch
from ignite.engine import Events, create_supervised_trainer
from ignite.handlers import ProgressBar
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_model():
    return nn.Sequential(nn.Linear(30, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 3))


def main():
    device = "cuda"
    dataset = TensorDataset(torch.randn(3000, 30), torch.randint(0, 3, (3000,)))
    loader = DataLoader(dataset, batch_size=64, shuffle=True)
    model = get_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    trainer = create_supervised_trainer( #@
        model, optimizer, nn.CrossEntropyLoss(), device=device, amp_mode="amp" #@
    )
    ProgressBar().attach(trainer)

    @trainer.on(Events.EPOCH_COMPLETED)
    def report(engine):
        print(engine.state.epoch, engine.state.output)

    trainer.run(loader, max_epochs=10)


if __name__ == "__main__":
    main()
