# ruff: noqa
norm_cfg = dict(type="BN", requires_grad=True)
model = dict(
    type="Detector",
    backbone=dict(type="ResNet", depth=50, norm_cfg=norm_cfg, out_indices=(0, 1, 2, 3)),
    neck=dict(type="FPN", in_channels=[256, 512, 1024, 2048]),
    test_cfg=dict(nms=dict(iou=0.5)),
)
train_pipeline = [dict(type="Load"), dict(type="Resize", scale=(1333, 800), keep_ratio=True)]
