"""Generated secrets and harmless look-alikes, each in the surroundings where it would stand. One seed, one corpus.

A `Case` is a small file. `secrets` must be gone from what is shown of it; a case without secrets must come back as it
was. The forms (`redaction_corpus.json`) are those that vendors document; every value is newly drawn.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Case", "generic", "harmless", "known"]

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
B64 = ALNUM + "+/"
URL = ALNUM + "-_"
HEX = "0123456789abcdef"
DATA = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
WORDS: list[str] = DATA["words"]


@dataclass(frozen=True, slots=True)
class Case:
    sort: str
    path: str
    text: str
    secrets: tuple[str, ...] = ()


def draw(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def known(seed: int, rounds: int = 6) -> list[Case]:
    """Secrets with formats of their own, each in a random line of a random kind of file."""
    rng = random.Random(seed)
    cases = []
    for _ in range(rounds):
        for name, make in TOKENS.items():
            token = make(rng)
            path, text = rng.choice(DATA["lines"])
            cases.append(Case(name, path, text.replace("@", token), (token,)))
        cases += [Case(name, path, *make(rng)) for name, (path, make) in BLOCKS.items()]
    return cases


def jwt(rng: random.Random) -> str:
    def part(value: Mapping[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, claims = {"alg": "HS256", "typ": "JWT"}, {"sub": draw(rng, DIGITS, 10), "iat": rng.randrange(10**9)}
    return f"{part(head)}.{part(claims)}.{draw(rng, URL, 43)}"


ALPHABETS = {
    "A": ALNUM,
    "U": UPPER + DIGITS,
    "L": LOWER + DIGITS,
    "H": HEX,
    "B": B64,
    "W": URL,
    "D": DIGITS,
    "T": UPPER + "234567",
}


def filled(rng: random.Random, blank: str) -> str:
    """A letter for the alphabet, then the number of characters."""
    if blank == "uuid":
        return str(uuid.UUID(int=rng.getrandbits(128)))
    return draw(rng, ALPHABETS[blank[0]], int(blank[1:]))


def form(pattern: str) -> Callable[[random.Random], str]:
    """`ghp_{A36}`: its placeholders are filled with new characters each time."""

    def make(rng: random.Random) -> str:
        done, rest = "", pattern
        while "{" in rest:
            before, _, rest = rest.partition("{")
            inner, _, rest = rest.partition("}")
            done += before + filled(rng, inner)
        return done + rest

    return make


TOKENS: dict[str, Callable[[random.Random], str]] = {name: form(each) for name, each in DATA["tokens"].items()}
TOKENS["jwt"] = jwt


def wrapped(rng: random.Random, width: int, lines: int) -> list[str]:
    return [draw(rng, B64, width) for _ in range(lines)]


def pem(label: str, *, closed: bool = True, width: int = 64) -> Callable[[random.Random], tuple[str, tuple[str, ...]]]:
    def make(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        body = wrapped(rng, width, rng.randrange(8, 26))
        end = [f"-----END {label}-----"] if closed else []
        return "\n".join(["# kept", f"-----BEGIN {label}-----", *body, *end, "", "kept: yes", ""]), tuple(body)

    return make


def service_account(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    body = wrapped(rng, 64, 12)
    key = "\\n".join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----", ""])
    return f'{{\n  "type": "service_account",\n  "private_key": "{key}",\n  "client_email": "a@b.c"\n}}\n', tuple(body)


def putty(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    public, private, mac = wrapped(rng, 64, 4), wrapped(rng, 64, 8), draw(rng, HEX, 64)
    head = ["PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Comment: me", "Public-Lines: 4", *public]
    return "\n".join([*head, "Private-Lines: 8", *private, f"Private-MAC: {mac}", ""]), (*private, mac)


def line_of(template: str, *forms: str) -> Callable[[random.Random], tuple[str, tuple[str, ...]]]:
    def make(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        secrets = tuple(form(each)(rng) for each in forms)
        text = template
        for secret in secrets:
            text = text.replace("@@", secret, 1)
        return text, secrets

    return make


def encoded(template: str) -> Callable[[random.Random], tuple[str, tuple[str, ...]]]:
    def make(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        secret = base64.b64encode(f"{rng.choice(DATA['words'])}:{password(rng)}".encode()).decode()
        return template.replace("@@", secret), (secret,)

    return make


def kubeconfig(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    key = base64.b64encode(pem("RSA PRIVATE KEY")(rng)[0][7:].encode()).decode()
    token = draw(rng, URL, 60)
    return f"users:\n- name: me\n  user:\n    client-key-data: {key}\n    token: {token}\n", (key, token)


def kubernetes(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    one, two = (base64.b64encode(password(rng).encode()).decode() for _ in range(2))
    text = (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  first: {one}\n  second: {two}\ntype: Opaque\n"
    )
    return text, (one, two)


BLOCKS: dict[str, tuple[str, Callable[[random.Random], tuple[str, tuple[str, ...]]]]] = {
    "pem rsa": ("id_rsa", pem("RSA PRIVATE KEY")),
    "pem pkcs8": ("server.key", pem("PRIVATE KEY")),
    "pem openssh": ("id_ed25519", pem("OPENSSH PRIVATE KEY", width=70)),
    "pem without end": ("half.pem", pem("EC PRIVATE KEY", closed=False)),
    "pgp": ("me.asc", pem("PGP PRIVATE KEY BLOCK")),
    "service account": ("sa.json", service_account),
    "putty": ("me.ppk", putty),
    "kubeconfig": ("kubeconfig", kubeconfig),
    "kubernetes secret": ("secret.yaml", kubernetes),
    "basic": ("r.http", encoded("GET / HTTP/1.1\nAuthorization: Basic @@\n")),
    "docker auth": ("config.json", encoded('{"auths": {"reg.io": {"auth": "@@"}}}\n')),
    **{name: (path, line_of(text, *forms)) for name, path, text, forms in DATA["fields"]},
}


def password(rng: random.Random) -> str:
    """As people and generators choose them."""
    way = rng.randrange(6)
    if way == 0:
        return draw(rng, ALNUM, rng.randrange(8, 24))
    if way == 1:
        return draw(rng, ALNUM + "!#%^*_+-.~", rng.randrange(10, 20))
    if way == 2:
        return rng.choice(WORDS).title() + draw(rng, DIGITS, rng.randrange(2, 5)) + rng.choice("!?#*")
    if way == 3:
        return rng.choice(WORDS) + draw(rng, DIGITS, rng.randrange(1, 4))
    if way == 4:
        return "-".join(rng.sample(WORDS, 4))
    return draw(rng, HEX, 32)


def generic(seed: int, rounds: int = 12) -> list[Case]:
    rng = random.Random(seed)
    cases = []
    for _ in range(rounds):
        for path, text in DATA["passwords"]:
            secret = password(rng)
            cases.append(field(path, text, secret))
        cases += [field(path, text, random_key(rng)) for path, text in DATA["keys"]]
        cases += [field(path, text, made_up(rng)) for path, text in DATA["made up"]]
    return cases


def field(path: str, text: str, secret: str) -> Case:
    return Case(text.strip().partition("\n")[0][:40], path, text.replace("@@", secret), (secret,))


def random_key(rng: random.Random) -> str:
    """Long, random and of no known format."""
    way = rng.randrange(4)
    if way == 0:
        return draw(rng, HEX, rng.choice((32, 48, 64)))
    return draw(rng, (ALNUM, URL, B64)[way - 1], rng.randrange(24, 64))


def made_up(rng: random.Random) -> str:
    """A token that somebody typed."""
    words = rng.sample(WORDS, 4)
    return "-".join(words) if rng.random() < 0.5 else f"my-{words[0]}-{words[1]}-token-{rng.randrange(2018, 2030)}"


def harmless(seed: int, rounds: int = 12) -> list[Case]:
    rng = random.Random(seed)
    cases = [Case("fixed", path, f"{text}\n") for path, texts in DATA["lookalikes"].items() for text in texts]
    for _ in range(rounds):
        cases += [Case("drawn", path, drawn(rng, text)) for path, text in DATA["drawn"]]
    return cases


def drawn(rng: random.Random, text: str) -> str:
    """Every second part between `@` is a form."""
    return "".join(form(part)(rng) if index % 2 else part for index, part in enumerate(text.split("@")))
