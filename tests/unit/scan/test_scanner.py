"""What is taken for a secret, and what is not; each kind of both."""

import base64
import json

import msgspec
import pytest

from homi.envelope import MessageId, Msg, encode
from homi.scan import library
from homi.scan.scanner import ENOUGH, UNKNOWN, Finding, Scanner
from homi.scan.text import BLOCK

# Put together here, so that no scanner of a repository takes this file for a leak.
AWS = "AK" + "IAQWERTYUIOP234567"
DRAWN = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
OPENSSH = "b3BlbnNzaC1r" + "ZXktdjEAAAAABG5vbmUAAAAE"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----"

SECRETS = {
    "a line of .env with a prefix": "DB_PASS" + "WORD=hunter2",
    "a line of settings in small letters": "x=1\ndb.pass" + "word=hunter2hunter2\ny=2",
    "an exported variable": "export API_TO" + "KEN=abc12345x",
    "an option of docker": "docker run -e POSTGRES_PASS" + "WORD=hunter2 img",
    "a line of a compose file": "  DB_PASS" + "WORD: hunter2\n  X: 1",
    "json": '{"pass' + 'word": "hunter2"}',
    "json in json": '{\\"pass' + 'word\\":\\"hunter2\\"}',
    "json over two lines": '"pass' + 'word":\n  "hunter2"',
    "an ini file": f"aws_secret_access_key = {DRAWN}wXyZ",
    "a value that begins with my": "pass" + 'word: "mysecretpass"',
    "a value that begins with the": '"api_' + 'key": "thequickbrownfox"',
    "a value that begins with test": "tok" + "en='test-4f9d8e7c6b5a'",
    "camel case": "db" + 'Password = "hunter2"',
    "yaml": "db_pass" + "word: Tr0ub4dor&3zz",
    "a typed variable": "pass" + 'word: str = "hunter2"',
    "an aws key": f"the key is {AWS}, keep it",
    "an aws key split by an unseen character": AWS[:7] + "\u200b" + AWS[7:],
    "an aws key split by a line feed": AWS[:8] + "\n" + AWS[8:],
    "an aws key on lines of its own": f"key\n{AWS[:8]}\n{AWS[8:]}\nok",
    "an aws key in a quoted reply": f"> {AWS[:8]}\n> {AWS[8:]}",
    "full-width letters": "".join(chr(0xFEE0 + ord(one)) for one in AWS),
    "a bearer header": "Authorization: Bearer abcdef0123456789abcd",
    "a basic header": "-H 'Authorization: Basic dXNlcjpodW50ZXIyMg=='",
    "a private key": f"{PEM}\n{OPENSSH}",
    "a private key in a string": f"{PEM}\\n{OPENSSH}",
    "a private key with fields": f"{PEM}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0F\n\n"
    + DRAWN,
    "a private key with fields, in a string": f"{PEM}\\nComment: me\\n\\n{DRAWN}",
    "a private key with fields, quoted": f"> {PEM}\n> Version: 2\n>\n> {DRAWN}",
    "the body of a private key": OPENSSH,
    "age": "AGE-SECRET-" + "KEY-1QQQSYYVVFF3RHHXW6WRR4AAA2BB",
    "hugging face": "hf_" + DRAWN,
    "a bot": "123456789:" + "AAF" + "x9Y" * 10 + "bc",
    "github": "ghp_" + DRAWN,
    "github, fine grained": "github_pat_" + DRAWN,
    "gitlab": "glpat-" + DRAWN[:20],
    "anthropic": "sk-ant-" + f"api03-{DRAWN}",
    "openai": "sk-" + DRAWN,
    "openai, of a project": "sk-proj-" + DRAWN,
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "google": "AIza" + DRAWN[:35],
    "a web token": "eyJhbGciOiJI.eyJzdWIiOiIx".replace("I.", "IUzI1NiJ9.")
    + "MjM.sgnature1",
    "sendgrid, by the library": "SG." + f"{DRAWN[:22]}.{(DRAWN * 2)[:43]}",
    "mailchimp, by the library": "0123456789abcdef" * 2 + "-us12",
    "a url": "postgres://bob:s3cr3t@db/x",
    "an option": "mysql --password=hunter2 x",
    "xml": "<pass" + "word>hunter2</pass" + "word>",
    "netrc": "machine x login y pass" + "word hunter2",
    "curl": "run curl -s -u " + "bob:hunter2 https://x.y/z",
    "curl, in long": "curl https://x.y/z --user='bob:" + "hunter2'",
    "sshpass": "sshpass -p " + "hunter2 ssh bob@x",
    "sql": "CREATE USER bob WITH PASS" + "WORD 'hunter2';",
    "sql, of mysql": "grant all to bob identified by " + "'hunter2'",
    "docker": '{"x.y": {"auth": "' + base64.b64encode(b"bob:hunter2").decode() + '"}}',
    "npm": "//x.y/:_auth=" + base64.b64encode(b"bob:hunter2").decode(),
    "base64 twice": base64.b64encode(
        base64.b64encode(f"the key is {AWS}, ok?".encode())
    ).decode(),
    "base64": "see " + base64.b64encode(f"key {AWS} ok?".encode()).decode(),
    "base64 of wide characters": base64.b64encode(AWS.encode("utf-16le")).decode(),
    "base64 in lines": "\n".join(
        base64.b64encode(b"x: y z, DB_PASS" + b"WORD=hunter2 " * 9).decode()[
            at : at + 60
        ]
        for at in range(0, 180, 60)
    ),
}
FREE = (
    "pass" + "word = hunter2",
    "set the pass" + "word = hunter2 and go on",
    "use pass" + "word=hunter2hunter2 there",
    "call(\n    pass" + "word=hunter2hunter2\n)",
    "db.pass" + "word=the_default_one\n",
    "use <your-token> here",
    "TOKEN=<your-token>",
    "DB_PASS" + "WORD=${DB_PASSWORD}",
    "DB_PASSWORD=changeme",
    "HF_TOKEN=$(cat token)",
    "MAX_TOKENS=4096",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:" + "ab12" * 16,
    "id 0199f3a2-61b4-7c7e-9d0e-52b07c10a9e2",
    "token: 0199f3a2-61b4-7c7e-9d0e-52b07c10a9e2",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "the token expired; get a new token: see the wiki",
    "token: 2026-11-30T12:00:00Z",
    'password = os.environ["DB_PASSWORD"]',
    'token = request.headers.get("Authorization")',
    "password: str = Field(...)",
    '{"token": "refresh_token"}',
    '{"password": "string"}',
    "def f(token: str | None = None): pass",
    "f(api_key=api_key, token=token)",
    "secret = self._secrets[name]",
    'getpass("Password: ")',
    "if token == expected_token_v2: return",
    "next_page_token: CAESBQoDCgFh99ABCDEF",
    "ASIAPACIFICREGIONALOFFICE",
    "ASIA\nEUROPE\nAFRICA\nAMERICAS2",
    "the task-\nmanagement of the frame work documentation 123",
    f"{PEM} is what the header says",
    "Bearer token authentication is used",
    "https://host:8080/a@b",
    "ssh://git@host:22/x",
    "postgres://user:password@localhost/db",
    "AKIAXXXXXXXXXXXXXXXX",
    "ghp_" + "x" * 36,
    "bypass: a1B2c3D4e5F6g7",
    "curl -u bob https://x.y/z and wait:",
    'curl -u "bob:$PASS" https://x.y/z',
    "sshpass -p $PASS ssh bob@x; sshpass -f file ssh bob@x",
    "CREATE USER bob WITH PASSWORD '${PASSWORD}'",
    "with the password 'hunter' nobody comes in",
    "he identified by 'name' what broke",
    '{"auth": "' + base64.b64encode(b"no pair in this").decode() + '"}',
    '{"auth": "required-by-all"}',
    'signing_key: "ed25519:prod-2024"',
    base64.b64encode(base64.b64encode(b"the key is not in here, ok?")).decode(),
)


def letter(text: str, **fields: object) -> Msg:
    one = MessageId("0199f3a2-61b4-7c7e-9d0e-52b07c10a9e2")
    return Msg(id=one, from_="ada", to="gds@mini", text=text, **fields)  # type: ignore[arg-type]


def found(text: str, **fields: object) -> tuple[Finding, ...]:
    head = letter(text, **fields)
    return Scanner().findings(head, encode(head))


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_found(text: str) -> None:
    """Whatever it is dressed in; and between other lines."""
    assert found(text)
    assert found(f"hello\n\n{text}\nbye")


@pytest.mark.parametrize("text", FREE)
def test_what_is_none_may_leave(text: str) -> None:
    """Prose, code, hashes, ids and gaps to be filled."""
    assert found(text) == ()


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS.keys())
def test_a_finding_says_no_character_of_the_secret(text: str) -> None:
    """Rule, field and place are all there is of it."""
    for one in found(text):
        said = f"{one.rule} {one.field}"
        assert not any(value in said for value in ("hunter2", AWS[4:], DRAWN[:8]))
        assert len(said) < 40


def test_the_place_is_that_in_the_sender_s_text() -> None:
    """Behind characters that are unseen, of other widths, and in other pieces."""
    before = "a\u200b\ufb01x " * BLOCK
    (one,) = found(f"{before}{AWS}")
    assert one == Finding("aws-key-id", "text", len(before))
    (one,) = found(f"ab\n> {AWS[:9]}\n> {AWS[9:]}")
    assert one.offset == 5


@pytest.mark.parametrize("at", [BLOCK - 30, BLOCK - 10, BLOCK, 3 * BLOCK - 1])
def test_a_secret_over_two_pieces_is_found_once(at: int) -> None:
    """What a long text is cut into has a part of the piece before."""
    text = ("word " * BLOCK)[:at] + f" {AWS} " + "word " * 2000
    assert [one.offset for one in found(text)] == [at + 1]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"tags": ["ok", AWS]}, "tags[1]"),
        ({"thread": AWS}, "thread"),
        ({"blobs": [f"{AWS}.txt"]}, "blobs[0]"),
        ({"default": AWS}, "default"),
        ({"x": {"y": [{"z": AWS}]}}, UNKNOWN),
        ({"x": {AWS: 1}}, UNKNOWN),
        ({AWS: 1}, UNKNOWN),
        ({"db_pass" + "word": "hunter2"}, UNKNOWN),
    ],
)
def test_every_string_that_goes_out_is_looked_at(
    more: dict[str, object], field: str
) -> None:
    """Names and values of unknown fields, too; the control has the same without."""
    head = letter("hello", **{k: v for k, v in more.items() if k in ("tags", "thread")})
    plain = json.loads(encode(head))
    assert Scanner().findings(letter("hello"), encode(letter("hello"))) == ()
    hits = Scanner().findings(head, msgspec.json.encode(plain | more))
    assert {one.field for one in hits} == {field}


def test_no_more_is_told_than_a_person_reads() -> None:
    """The first few, in their order."""
    hits = found(f"{AWS} " * 50)
    assert len(hits) == ENOUGH
    assert [one.offset for one in hits] == sorted(one.offset for one in hits)


def test_the_library_is_loaded_only_for_what_it_knows() -> None:
    """Most mail costs none of it; the control is a token of its."""
    scanner = Scanner()
    for text in ("hello, see branch fix-210", f"id {AWS}"):
        scanner.findings(letter(text), encode(letter(text)))
    assert not scanner.loaded
    token = letter("0123456789abcdef" * 2 + "-us12")
    assert scanner.needs(encode(token))
    assert scanner.findings(token, encode(token))
    assert scanner.loaded


def test_every_rule_of_the_library_has_a_pattern() -> None:
    """A release that has it no more would leave a gap in silence."""
    names = {rule.name for rule in library.load()}
    assert names == {module.replace("_", "-") for module, _ in library.MODULES}


PIECES = ("eyJ", "password=", "password: ", "sk-", "://a:", "--", "xox", "ibm_key")
HOSTILE = {one: one for one in PIECES} | {
    "fields in front of no private key": f"{PEM} {'Abc:    ' * 100}{'x' * 15} ",
    "lines of such fields": f"{PEM}\n{'Abc: Abc: Abc: !' * 8}{'x' * 15}\n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_is_read_in_steps(piece: str) -> None:
    """However often a beginning is repeated, each step ends, and all of them do."""
    head = letter((piece * 4 * BLOCK)[: 4 * BLOCK])
    steps = Scanner().steps(head, encode(head))
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            hits = end.value
            break
        count += 1
    assert hits or count >= 4
