# ruff: noqa
default_scope = "mmdet"
log_level = "INFO"
load_from = None
env_cfg = dict(cudnn_benchmark=False, dist_cfg=dict(backend="nccl"))
default_hooks = dict(
    logger=dict(type="LoggerHook", interval=50),
    checkpoint=dict(type="CheckpointHook", interval=1),
)
