"""Hypothesis on a machine that others load, too: a slow draw is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "homi", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("homi")
