"""What a secret looks like by itself: the tokens that say what they are.

Owns the rules of homi's own; those of the library are in library.py, those by the
name before a value in keys.py.  Pure.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret."""

    name: str  # as a refusal tells it
    needles: tuple[str, ...]  # in lower case: without one of them nothing is looked for
    pattern: re.Pattern[str]
    mixed: bool = False  # told from words only by capitals and digits in it
    beside: bool = False  # a needle may stand beside the token, in a word of its own


class Hay(NamedTuple):
    """Where needles are looked for: a text in lower case."""

    low: str
    longs: str  # its words that are long enough for a token


def hay(low: str) -> Hay:
    """Most words are short, and most needles are part of a token."""
    return Hay(low, " ".join([word for word in low.split() if len(word) >= SHORTEST]))


def _rule(
    name: str,
    needles: str,
    pattern: str,
    *,
    mixed: bool = False,
    beside: bool = False,
) -> Rule:
    """One line of the table."""
    return Rule(name, tuple(needles.split()), re.compile(pattern), mixed, beside)


SHORTEST = 15  # characters of the shortest token
# A body after the header: a program that merely names the header has none.  Nothing of
# it is tried in two ways: a text made for that would take minutes.
_BETWEEN = r"(?:\\[rn]|[\s>|\"'+,])"
_FIELD = r"[A-Z][A-Za-z-]{2,20}: "
_BASE64 = r"[A-Za-z0-9+/=]{16}"
_BODY = (
    rf"{_BETWEEN}{{1,40}}+"
    rf"(?:{_FIELD}(?>[^\n]{{0,200}}?{_BETWEEN}{{1,8}}+(?={_FIELD}|{_BASE64}))){{0,4}}+"
    rf"{_BASE64}"
)
# Without a digit only where it ends there: capitals alone may be a heading.
_AWS_ID = (
    r"(?:AKIA|ASIA|ABIA|ACCA)"
    r"(?:(?=[A-Z]{0,15}[0-9])[0-9A-Z]{16}|[A-Z]{16}(?![A-Za-z]))"
)
TOKENS = (
    _rule("aws-key-id", "akia asia abia acca", _AWS_ID),
    _rule(
        "aws-secret-key",
        "aws",
        r"(?i:aws.{0,24}?(?:secret|key).{0,24}?[\"'=:\s])"
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
        mixed=True,
        beside=True,
    ),
    _rule(
        "private-key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----" + _BODY,
        beside=True,
    ),
    _rule("private-key", "b3blbnnzac1rzxkt", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]{16}"),
    _rule("putty-key", "putty-user-key", r"PuTTY-User-Key-File-\d: "),
    _rule("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Z]{20}"),
    _rule("age-key", "age-secret-key-pq-1", r"AGE-SECRET-KEY-PQ-1[0-9A-Z]{20}"),
    _rule("github-token", "gho_ ghp_ ghr_ ghs_ ghu_", r"gh[opsru]_[A-Za-z0-9]{30}"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22}"),
    _rule("gitlab-token", "glpat-", r"glpat-[A-Za-z0-9_-]{20}"),
    _rule(
        "model-key",
        "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-",
        r"sk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20}",
    ),
    _rule("model-key", "sk-", r"sk-[A-Za-z0-9]{32}", mixed=True),
    _rule("model-key", "gsk_ xai-", r"(?:gsk_|xai-)[A-Za-z0-9]{40}"),
    _rule("hugging-face-token", "hf_", r"hf_[A-Za-z0-9]{30}"),
    _rule("slack-token", "xox", r"xox[a-z]-[A-Za-z0-9-]{10}"),
    _rule("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10}"),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/T\w{1,20}/B\w{1,20}/\w{8}",
    ),
    _rule("bot-token", ":a", r"\d{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])"),
    _rule("google-key", "aiza", r"AIza[0-9A-Za-z_-]{35}"),
    _rule("google-token", "ya29. gocspx-", r"(?:ya29\.|GOCSPX-)[0-9A-Za-z_-]{20}"),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _rule("stripe-key", "_live_", r"[rs]k_live_[0-9a-zA-Z]{16}"),
    _rule("web-token", "eyj", r"eyJ[\w-]{8,1200}\.eyJ[\w-]{8,1200}\.[\w-]{8}"),
    _rule("pypi-token", "pypi-age", r"pypi-AgE[A-Za-z0-9_-]{40}"),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{40}"),
    _rule("tailscale-key", "tskey-", r"tskey-[a-z]{3,12}-[A-Za-z0-9-]{12}"),
    _rule("vault-token", "hvs.", r"hvs\.[A-Za-z0-9_-]{24}"),
)
# Every token has one: what has none is not looked at any closer.
LONG = re.compile(rf"[A-Za-z0-9+/_.:=-]{{{SHORTEST}}}")
_UPPER, _LOWER, _DIGIT = (re.compile(one) for one in ("[A-Z]", "[a-z]", "[0-9]"))


def tokens(
    text: str, where: Hay, rules: tuple[Rule, ...]
) -> Iterator[tuple[str, int, int]]:
    """Rule, start and end of each token in text; where is hay() of it.

    What stands inside a longer word is none, which a caller judges that knows where
    words begin.
    """
    for rule in rules:
        words = where.low if rule.beside else where.longs
        for needle in rule.needles:
            if needle in words:
                break
        else:
            continue
        for found in rule.pattern.finditer(text):
            if not (_filler(found[0]) or (rule.mixed and not mixed(found[0]))):
                yield rule.name, found.start(), found.end()


def mixed(text: str) -> bool:
    """Whether it has capitals, small letters and digits, as what was drawn by lot."""
    return all(one.search(text) for one in (_UPPER, _LOWER, _DIGIT))


def _filler(text: str) -> bool:
    """Whether one character over and over stands for the secret."""
    return len(set(text[-12:].lower())) == 1
