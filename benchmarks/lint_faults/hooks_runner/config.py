work_dir = "work_dirs/base"
max_epochs = 2
resume = False
seed = 2
data = dict(samples=120, dim=12, classes=3, batch_size=12)
optimizer = dict(type="SGD", lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = dict(type="MultiStepLR", milestones=[1], gamma=0.1)
hooks = [
    dict(type="GradClipHook", max_norm=10.0),
    dict(type="LoggerHook", interval=4),
    dict(type="EvalHook", interval=1, save_best=True),
    dict(type="SchedulerHook"),
    dict(type="CheckpointHook"),
]
