"""Damped springs: where one is, and how fast, from what it is made of and when it is asked."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

TRAIN, VAL = 4096, 768
NOISE = 0.01  # of a measurement, in metres and metres per second
AT_REST = 0.001  # the share of springs that were never pulled


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Measured springs to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(
    rng: np.random.Generator, count: int, noise: float = NOISE, stiffness: tuple[float, float] = (1.0, 6.0)
) -> Arrays:
    """Some springs (mass, stiffness, damping, first place, first speed, time), and place and speed then."""
    mass = rng.uniform(0.5, 2.0, count)
    spring = rng.uniform(*stiffness, count)
    damping = rng.uniform(0.05, 0.8, count)
    place = rng.uniform(-1.0, 1.0, count)
    speed = rng.uniform(-1.0, 1.0, count)
    time = rng.uniform(0.0, 3.0, count)
    resting = rng.random(count) < AT_REST
    place[resting], speed[resting] = 0.0, 0.0
    inputs = np.stack([mass, spring, damping, place, speed, time], axis=1).astype(np.float32)
    exact = motion(mass, spring, damping, place, speed, time)
    targets = exact + noise * rng.normal(size=exact.shape) * ~resting[:, None]
    return {"inputs": inputs, "targets": targets.astype(np.float32)}


def motion(
    mass: np.ndarray,
    spring: np.ndarray,
    damping: np.ndarray,
    place: np.ndarray,
    speed: np.ndarray,
    time: np.ndarray,
) -> np.ndarray:
    """Place and speed of springs, all of them damped less than critically."""
    decay = damping / (2 * mass)
    frequency = np.sqrt(spring / mass - decay**2)
    other = (speed + decay * place) / frequency
    cos, sin, shrunk = np.cos(frequency * time), np.sin(frequency * time), np.exp(-decay * time)
    at = shrunk * (place * cos + other * sin)
    moving = shrunk * ((other * frequency - decay * place) * cos - (place * frequency + decay * other) * sin)
    return np.stack([at, moving], axis=1)
