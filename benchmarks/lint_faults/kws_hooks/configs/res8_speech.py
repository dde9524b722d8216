# keyword spotting, residual CNN on static + delta features
model = dict(type="Res8", in_channels=3, width=16, num_classes=4, drop_rate=0.1)
feature = dict(type="DeltaFeatures", order=2)

train_dataloader = dict(
    batch_size=8,
    dataset=dict(type="ToneWords", num=96, seed=0, gain_jitter=0.3),
    sampler=dict(shuffle=True),
)
val_dataloader = dict(
    batch_size=16,
    dataset=dict(type="ToneWords", num=48, seed=1, gain_jitter=0.0),
    sampler=dict(shuffle=False),
)

optim_wrapper = dict(
    type="AmpOptimWrapper",
    optimizer=dict(type="SGD", lr=0.05, momentum=0.9, weight_decay=1e-4),
    accumulative_counts=2,
    clip_grad=dict(max_norm=5.0),
)
param_scheduler = dict(type="CosineAnnealingLR", by_epoch=True, eta_min=1e-4)
train_cfg = dict(max_epochs=4, val_interval=1)

default_hooks = [
    dict(type="LoggerHook", interval=6),
    dict(type="EarlyStoppingHook", patience=3),
    dict(type="CheckpointHook", out_dir="work_dirs/res8"),
]
resume_from = None
seed = 1
