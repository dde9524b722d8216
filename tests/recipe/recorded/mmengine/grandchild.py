# ruff: noqa
_base_ = "detector.py"
default_hooks = dict(logger=dict(interval=_base_.interval * 2), checkpoint=dict(max_keep_ckpts=3))
optim_wrapper = dict(optimizer=dict(lr=1e-4))
resume = True
work_dir = "./work_dirs/x"
