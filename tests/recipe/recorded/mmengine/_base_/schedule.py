# ruff: noqa
max_epochs = 12
base_lr = 0.02
train_cfg = dict(type="EpochBasedTrainLoop", max_epochs=max_epochs, val_interval=1)
optim_wrapper = dict(
    type="OptimWrapper", optimizer=dict(type="SGD", lr=base_lr, momentum=0.9, weight_decay=0.0001)
)
param_scheduler = [
    dict(type="LinearLR", start_factor=1.0 / 1000, by_epoch=False, begin=0, end=500),
    dict(type="MultiStepLR", begin=0, end=max_epochs, by_epoch=True, milestones=[8, 11], gamma=0.1),
]
