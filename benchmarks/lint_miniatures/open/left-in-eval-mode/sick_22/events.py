from collections import defaultdict


class Engine:
    def __init__(self, step_fn):
        self.step_fn, self.handlers = step_fn, defaultdict(list)
        self.epoch = self.iteration = 0

    def on(self, event):
        def register(fn):
            self.handlers[event].append(fn)
            return fn
        return register

    def fire(self, event):
        for fn in self.handlers[event]:
            fn(self)

    def run(self, loader, epochs=1):
        self.fire("started")
        for self.epoch in range(1, epochs + 1):
            for batch in loader:
                self.iteration += 1
                self.step_fn(self, batch)
            self.fire("epoch_completed")
