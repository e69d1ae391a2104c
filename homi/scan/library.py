"""The rules of detect-secrets for the tokens of services.

The one home of that library, which takes some MiB and a fifth of a second to load:
only what may hold one of its tokens has it loaded.  Its rules by entropy, by names and
by address are not used; rules.py and keys.py have homi's own.
"""

import re
import sys
from collections.abc import Iterable

from homi.errors import Unavailable
from homi.scan.rules import Hay, Rule

_PLUGINS = "detect_secrets.plugins"
# Module, and the words without which none of its tokens is there: in the token itself,
NEEDED = (
    ("azure_storage_key", ("accountkey=",)),
    ("github_token", ("gho_", "ghp_", "ghr_", "ghs_", "ghu_")),
    ("gitlab_token", ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "gr1348941")),
    ("gitlab_token", ("glcbt-", "glimt-", "glptt-", "glagent-", "gloas-")),
    ("mailchimp", ("-us",)),
    ("sendgrid", ("sg.",)),
    ("slack", ("xox", "hooks.slack.com")),
    ("square_oauth", ("sq0csp-",)),
    ("stripe", ("k_live_",)),
)
# or perhaps beside it, as a name.
BESIDE = (
    ("artifactory", ("akc", "artifactory", "jfrog")),
    ("discord", ("discord",)),
    ("ibm_cloud_iam", ("ibm",)),
    ("softlayer", ("softlayer",)),
    ("twilio", ("twilio",)),
)
MODULES = (*NEEDED, *BESIDE)
_WITHIN = tuple(needle for _, needles in NEEDED for needle in needles)
_NAMES = tuple(needle for _, needles in BESIDE for needle in needles)


def needed(where: Hay) -> bool:
    """Whether a text may hold a token that only the library knows."""
    for words, needles in ((where.longs, _WITHIN), (where.low, _NAMES)):
        for needle in needles:
            if needle in words:
                return True
    return False


def load() -> tuple[Rule, ...]:
    """Its rules; Unavailable (69) where it is not installed."""
    found: list[Rule] = []
    for module, needles in MODULES:
        name = f"{_PLUGINS}.{module}"
        try:
            __import__(name)
        except ImportError as error:
            raise Unavailable(
                "the scan for secrets cannot run: detect-secrets is not installed",
                hint="install homi again, with what it depends on",
            ) from error
        beside = (module, needles) in BESIDE
        found += [
            Rule(module.replace("_", "-"), needles, pattern, beside=beside)
            for pattern in _patterns(vars(sys.modules[name]).values(), name)
        ]
    return tuple(found)


def _patterns(values: Iterable[object], module: str) -> list[re.Pattern[str]]:
    """The patterns of the detectors that a module defines."""
    return [
        pattern
        for value in values
        if isinstance(value, type) and value.__module__ == module
        for pattern in getattr(value, "denylist", ())
    ]
