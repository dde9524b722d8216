# ruff: noqa
_base_ = ["./_base_/models/net.py", "./_base_/schedule.py", "./_base_/default.py"]

# Twice the devices: the rate follows the batch.
batch_size = 8 * 4
lr = 0.02 * batch_size / 16
optim_wrapper = dict(
    optimizer=dict(_delete_=True, type="AdamW", lr=lr, weight_decay=0.05),
    clip_grad=dict(max_norm=35, norm_type=2),
)
model = dict(backbone=dict(depth=101), neck=None, bbox_head=dict(num_classes=80))
train_pipeline = _base_.train_pipeline + [dict(type="Flip", prob=0.5)]
train_dataloader = dict(
    batch_size=batch_size, num_workers=2, dataset=dict(pipeline=train_pipeline, data_root="data/" + "coco/")
)
max_epochs = 24
train_cfg = dict(max_epochs=max_epochs)
param_scheduler = [dict(type="CosineAnnealingLR", T_max=max_epochs, eta_min=lr * 1e-2)]
interval = {{_base_.default_hooks.logger.interval}}
