"""Running means."""


class Averages:
    """Means of named values, each weighed by how many samples it stands for."""

    def __init__(self):
        self.sums, self.count = {}, 0

    def add(self, values, n=1):
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + n * value
        self.count += n

    def mean(self, name):
        return self.sums[name] / self.count

    def pop(self):
        """All means, and begin again."""
        means = {name: total / self.count for name, total in self.sums.items()}
        self.sums, self.count = {}, 0
        return means
