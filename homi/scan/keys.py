"""What a secret looks like by the name before it: passwords, tokens, headers.

Owns which values stand for a secret and are none.  Pure; each pattern takes a time
that is linear in the text.
"""

import binascii
import re
from collections.abc import Iterator

from homi.scan.rules import mixed

# Where a name may end that has a secret behind it.
_CORES = ("pass", "pwd", "secret", "token", "key", "credential")
_AUTH = ('auth"', "auth'", "_auth")
_GLANCE = (*_CORES, "bearer", "authorization", "://", "curl", "identified", *_AUTH)
_OWNED = re.compile(
    r"(?:api|access|secret|private|signing|encryption|auth|account|master)[_-]?\Z"
)
_OWNED_MAX = 11  # characters of what may stand before a key, with what is between
# Exactly these words, however they are written, stand for a value.
WORDS = frozenset(
    """api_key apikey bar bearer changeit changeme dummy empty example fake false foo
    foobar guest hidden masked none null nil optional pass passwd password placeholder
    postgres pwd redacted removed required root sample secret str string test testing
    text todo token true undefined unset user username x your-api-key your-password
    your-secret your-token your_api_key your_password your_secret your_token
    yourpassword yourtoken""".split()  # noqa: SIM905 - to be read as words
)
_PASS = r"passw(?:or)?d|passphrase|passcode|pwd|pass|secret"
_TOKEN = (
    r"token|(?:api|access|secret|private|signing|encryption|auth|account|master)[_-]?key"
    r"|credentials?"
)
_NAME = rf"(?:(?P<secret>{_PASS})|(?P<token>{_TOKEN}))"
_KIND = (
    r"(?:[ \t]?:[ \t]?[\w.\[\]| ]{1,40}(?==))?"  # of a variable: password: str = "x"
)
_OP = r"[ \t]{0,8}(?:=>|:=|={1,3}|:)"
_QUOTED = re.compile(
    rf"(?i){_NAME}\\{{0,3}}[\"'`]?\]?{_KIND}{_OP}\s{{0,8}}[bru]?"
    r"\\{0,3}(?P<quote>[\"'`])(?P<value>[^\"'`\s]{1,128})(?P=quote)"
)
_BARE = re.compile(
    rf"(?i){_NAME}[\"']?(?P<op>{_OP})[ \t]{{0,8}}(?P<value>[^\s\"'`,;]{{4,128}})"
)
_FLAG = re.compile(
    rf"(?i)(?<![\w-])--[\w-]{{0,40}}?{_NAME}(?:[ \t]{{1,4}}|=)"
    r"[\"']?(?P<value>[^\s\"'`]{6,128})"
)
_HEADER = re.compile(
    r"(?i)(?:\bbearer"
    r"|authorization[\"']?[ \t]{0,4}[:=,][ \t]{0,4}[\"']?(?:basic|token))"
    r"[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/-]{8,256}=*)"
)
_URL = re.compile(r"://[^\s:/@\"'<>]{0,64}:(?P<value>[^\s/@\"'<>]{3,128})@")
_ELEMENT = re.compile(
    rf"(?i)<[\w:.-]{{0,40}}?{_NAME}>\s{{0,8}}(?P<value>[^<>\s]{{4,256}})\s{{0,8}}</"
)
_NETRC = re.compile(
    r"(?m)^[ \t]{0,8}machine[ \t][^\n]{0,200}?\bpassword[ \t]{1,4}"
    r"(?P<value>\S{4,256})"
)
_CURL = re.compile(
    r"\bcurl\b[^\n]{0,400}?[ \t](?:-u|--user)[ \t=]{0,4}[\"']?"
    r"[^\s:\"'$]{1,64}:(?P<value>[^\s\"']{3,128})"
)
_SSHPASS = re.compile(
    r"\bsshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?(?P<value>[^\s\"']{3,128})"
)
_SQL = re.compile(
    r"(?i)\b(?:(?:create|alter)\s{1,8}(?:user|role|login)\b[^;]{0,200}?\bpassword\b"
    # One word of letters may be what prose has there.
    r"|identified\s{1,8}(?:with\s{1,8}[\w'\"]{1,40}\s{1,8})?by"
    r"(?=[^'\w]{0,8}'[A-Za-z]{0,128}[^A-Za-z']))"
    r"[ \t=]{0,8}'(?P<value>[^'\s]{3,128})'"
)
_PLACED = (
    ("://", "password-in-url", _URL),
    ("</", "password", _ELEMENT),
    ("machine", "password", _NETRC),
    ("curl", "password", _CURL),
    ("sshpass", "password", _SSHPASS),
    ("password", "password", _SQL),
    ("identified", "password", _SQL),
)
# What a registry is told: a name and a password in base64.
_PAIR = re.compile(
    r"(?i)(?<![A-Za-z0-9])_?auth[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?P<value>[A-Za-z0-9+/]{8,512}={0,2})(?![A-Za-z0-9+/=])"
)
# The name of a key, by its kind: no key.
_KIND_OF = re.compile(
    r"(?i)(?:ed25519|ed448|x25519|rsa|ecdsa|dsa|hmac|aes|kms)[-\d]{0,8}[:/]"
    r"[a-z]{1,20}(?:[-_.:/](?:[a-z]{1,20}|\d{1,4})){0,6}"
)
_BEFORE = re.compile(r"[A-Za-z0-9_.-]{0,48}\Z")
# Names that end like a secret's and are none.
_HARMLESS = re.compile(
    r"(?:page|next|prev|continuation|sync|cursor|csrf|xsrf|idempotency|cancel|cancellation"
    r"|pad|eos|bos|unk|sep|cls|mask|stop|max|min|num|per|total|special|by|com|sur|tres"
    r"|en|over|under|public)[_.-]?\Z",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\$[\w({]|<|\{|\[|\(|%[\w(]|\.{3}|(?:~|\.{1,2})?/[\w.-]+(?:/|\Z)"
    r"|(?:!(?:secret|vault|env|ref|sub)|process\.env|os\.|env\.|secrets\.|vars?\.|config\.|settings\.|self\.|args\."
    r"|vault:|op:|ssm:|arn:|file:|enc:|https?:|keyring:|getenv)",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # a name inside another
_CALLED = re.compile(r"[(\[{<$]|->|::")
_TIME = re.compile(r"\d{4}-\d\d|\d\d:\d\d")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHOUTED = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")  # the name of a variable
_SPELLED = re.compile(r"[a-z]+(?:[_.:/-][a-z]+)+")  # words with something between
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")
_SYMBOL = re.compile(r"[^A-Za-z0-9_.-]")


def keys(text: str, low: str) -> Iterator[tuple[str, int]]:
    """Rule and place of each value in text that is a secret by the name before it;
    low is text in lower case, of the same length."""
    cores = [core for core in _CORES if core in low]
    for at in _names(low, cores):
        found = _QUOTED.match(text, at)
        judge = _bare if found is None else _quoted
        found = found or _BARE.match(text, at)
        if found and _named(found) and judge(found):
            yield _rule(found), found.start("value")
    yield from _beside(text, low, cores)
    if "bearer" in low or "authorization" in low:
        for found in _HEADER.finditer(text):
            if not stands_for(found["value"]) and drawn(found["value"]):
                yield "authorization", found.start("value")


def _names(low: str, cores: list[str]) -> Iterator[int]:
    """Where each name begins that may have a secret behind it."""
    for core in cores:
        at = low.find(core)
        while at >= 0:
            if core != "key":
                yield at
            elif owned := _OWNED.search(low[max(0, at - _OWNED_MAX) : at]):
                yield at - len(owned[0])
            at = low.find(core, at + len(core))


def named(low: str) -> bool:
    """Whether anything of keys() can be in a text in lower case; quick."""
    for needle in _GLANCE:  # noqa: SIM110 - three times as quick as any()
        if needle in low:
            return True
    return False


def _beside(text: str, low: str, cores: list[str]) -> Iterator[tuple[str, int]]:
    """Values told by what stands around them."""
    if cores and "--" in low:
        for found in _FLAG.finditer(text):
            if _named(found) and _flagged(found["value"], found["secret"]):
                yield _rule(found), found.start("value")
    yield from _pairs(text, low)
    for needle, rule, pattern in _PLACED:
        if needle in low:
            for found in pattern.finditer(text):
                if not stands_for(found["value"]):
                    yield rule, found.start("value")


def _pairs(text: str, low: str) -> Iterator[tuple[str, int]]:
    """What a registry is told."""
    if any(one in low for one in _AUTH):
        for found in _PAIR.finditer(text):
            if _is_pair(found["value"]):
                yield "password", found.start("value")


def _is_pair(value: str) -> bool:
    """Whether it is a name and a password in base64."""
    try:
        user, colon, word = binascii.a2b_base64(value).decode("ascii").partition(":")
    except ValueError:
        return False
    plain = user.isprintable() and word.isprintable()
    return bool(user and colon and plain and len(word) > 2 and not stands_for(word))


def stands_for(value: str) -> bool:
    """Whether value only stands for one: a word for it, a variable, a gap to fill."""
    plain = value.strip("\"'`,;").rstrip("\\")
    if plain.lower() in WORDS or len(set(plain.lower())) < 2:
        return True
    if _KIND_OF.fullmatch(plain):
        return True
    return bool(_REFERENCE.match(plain)) or "${" in plain or "{{" in plain


def drawn(value: str) -> bool:
    """Whether value looks like one that nobody would write as a word."""
    if len(value) < 8 or _TIME.match(value) or not _LETTER.search(value):
        return False
    return bool(_DIGIT.search(value)) or (len(value) >= 24 and not _is_words(value))


def _rule(found: re.Match[str]) -> str:
    """How a refusal calls it."""
    return "password" if found["secret"] else "token"


def _named(found: re.Match[str]) -> bool:
    """Whether the name ends as a secret's does and means one."""
    key, name = _name(found)
    if _HARMLESS.search(name):
        return False
    # bypass and compass end in pass as well: the name must begin a word.
    return key.lower() != "pass" or not name or not name[-1].isalnum() or key[0] == "P"


def _quoted(found: re.Match[str]) -> bool:
    """Whether a program or a document gives a secret away in quotes."""
    value, secret = found["value"], found["secret"]
    if stands_for(value) or _SHOUTED.fullmatch(value):
        return False
    if secret:
        return len(value) >= 4
    if (
        len(value) < 8
        or value.isdecimal()
        or _is_words(value)
        or _CODE.fullmatch(value)
    ):
        return False
    return len(value) >= 16 or drawn(value)


def _bare(found: re.Match[str]) -> bool:
    """Whether a value without quotes is one: in the line of an environment it is,
    elsewhere only what no prose and no program would have there."""
    value, secret, text = found["value"], found["secret"], found.string
    if stands_for(value) or _SHOUTED.fullmatch(value):
        return False
    if _in_environment(found, text):
        if secret:
            return not _CALLED.search(value)
        return len(value) >= 8 and not value.isdecimal() and not _is_words(value)
    if secret and _alone(found, text):
        return drawn(value) and not _CALLED.search(value)
    follows = text[found.end("value") : found.end("value") + 1]
    if follows in ("(", '"', "'", "`") or _CALLED.search(value):
        return False
    if _CODE.fullmatch(value) or _TIME.match(value) or _UUID.fullmatch(value):
        return False
    return _strong(value)


def _in_environment(found: re.Match[str], text: str) -> bool:
    """Whether it is the line of a .env file or of an environment: a shouted name at
    the beginning of a line or behind a space, and the value at once."""
    key, before = _name(found)
    if not (key.isupper() and before.upper() == before):
        return False
    if found["op"] == "=":
        return True
    # In a document of settings; a shouted word before a colon is none.
    last = text[found.end("value") : found.end("value") + 1] in ("", "\n", "\r")
    return found["op"] == ":" and before.endswith("_") and last


def _alone(found: re.Match[str], text: str) -> bool:
    """Whether it is a whole line of a file of settings, with no blank in it: prose
    has some, and the arguments of a program are indented."""
    key, before = _name(found)
    start = found.start("op") - len(key) - len(before)
    ends = text[found.end("value") : found.end("value") + 1] in ("", "\n", "\r")
    begins = start <= 0 or text[start - 1] == "\n"
    return begins and ends and text[start : found.start("value")] == f"{before}{key}="


def _name(found: re.Match[str]) -> tuple[str, str]:
    """The end of the name that tells of a secret, and what stands before that."""
    group = "secret" if found["secret"] else "token"
    at = found.start(group)
    before = _BEFORE.search(found.string, max(0, at - 48), at)
    return found[group], before[0] if before else ""


def _flagged(value: str, secret: str | None) -> bool:
    """Whether an option of a command has a secret as its value."""
    if stands_for(value) or value.startswith("-") or _CALLED.search(value):
        return False
    if secret:
        return bool(_DIGIT.search(value) and _LETTER.search(value))
    return _strong(value)


def _strong(value: str) -> bool:
    """Whether value is long and mixed as no word is."""
    if len(value) < 12 or not (_LETTER.search(value) and _DIGIT.search(value)):
        return False
    if len(value) >= 20 and not _is_words(value):
        return True
    return mixed(value) or bool(_SYMBOL.search(value) and value.lower() != value)


def _is_words(value: str) -> bool:
    """Whether it is spelled of words."""
    return bool(_SPELLED.fullmatch(value)) or bool(_SHOUTED.fullmatch(value))
