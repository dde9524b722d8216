class EarlyStopping:
    def __init__(self, patience=10, min_delta=1e-4):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.count = float("inf"), 0

    def __call__(self, value):
        if value < self.best - self.min_delta:
            self.best, self.count = value, 0
        else:
            self.count += 1
        return self.count >= self.patience #@
