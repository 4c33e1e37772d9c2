"""Is this value a secret, or a placeholder, a reference, a type, a label, a name?

The decision depends on how the value is written. In code a bare word is a variable and a quoted plain word usually a
name; in a config file a plain word after `password:` is the password. Generated values are distinguished from words
by their pairs of letters: in English text three quarters of the pairs are common ones, in random letters a quarter.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from llmc.base.languages import PLAIN, language_of
from llmc.envelope.redact.names import Sort
from llmc.envelope.redact.table import words

__all__ = [
    "SHORTEST_OF",
    "ContentKind",
    "is_blank",
    "is_long_random",
    "is_mixed",
    "is_named_after",
    "is_passphrase",
    "is_placeholder",
    "is_product",
    "is_random",
    "is_secret",
    "is_strong",
    "kind_of",
]


class ContentKind(StrEnum):
    """How values in a file are judged. LABELS: translations and other messages, where `password` labels a field."""

    CONFIG = "config"
    CODE = "code"
    TEXT = "text"
    LABELS = "labels"


SHORTEST: Final = 4
SHORTEST_OF: Final = {Sort.PASSWORD: SHORTEST, Sort.TOKEN: 8, Sort.KEY: 20, Sort.RANDOM: 20, Sort.NONE: SHORTEST}
PASSPHRASE: Final = 4  # words
SHORTEST_CHOSEN: Final = 6
SHORTEST_RUN: Final = 16  # 64 random bits in hexadecimal
ENOUGH: Final = 80  # characters that are checked

_LABELS: Final = re.compile(
    r"(?i)(?:^|/)(?:locales?|i18n|l10n|langs?|languages?|translations?|intl|messages|strings|nls)/|"
    r"\.(?:po|pot|arb|resx|xlf|xliff|strings|ftl)$|(?:^|/)(?:strings|messages|locale|translations?)[\w-]*\.\w+$|"
    r"(?:^|/)[a-z]{2}(?:[-_][A-Za-z]{2})?\.(?:json|ya?ml|properties|ts|js|php|toml)$|"
    r"_[a-z]{2}(?:_[A-Z]{2})?\.properties$"
)

# References to a secret: variables and templates of shells, languages and tools, addresses, paths, digests.
_REFERENCE: Final = re.compile(
    r"""(?ix) \$\{ | \{\{ | <% | %\( | \$\( | ^%[sdr@]?$ | ^\$env: | ^\$!?\w+[\[>.:-]
    | ^%[sdrvqx]\W | ^%(?:\w[\w.-]*|env\([\w:.,/-]+\))%$ | ^\$!\{ | ^[\#%@]\{[^{}]+\}$ | ^\ [+.]\ .+\ [+.]\ ?$
    | ^\$+!?\w+(?:/[a-z_.-]*)*(?:[?&][a-z_.-]+=\$!?[a-z_][\w.]*)*(?:["'`)\]};,]*$|["']/?>)
    | ^[{<(\[].*[})>\]]$ | ^< | ^\[[^\]]*\] | ^[:@?]\w*$ | ^![a-z_]+$ | ^!\w+[/:] | ^[&*][a-z_]+\d?$ | ^enc[\[(:]
    | ^(?:vault|env|ssm|file|ref|op|secretsmanager|awssm|keyring|arn|projects|data)[:/] | ^\{cipher\} | ^\\[nu]?
    | process\.env | os\.environ | getenv | environ\b | ^env\b | ^env[(\[] | \bsecrets?\.[a-z]
    | ^(?:var|local|self|this|settings|config|data|module|args|opts|options|params|request|req|ctx|context|props|state
      |app|each|values|inputs|vars|steps|needs|github|credentials)[.\[>-]
    | ^(?:https?|ftp|s3|gs|jdbc):/ | ^\.{0,2}/(?:[a-z_.-]+/)*[a-z_.-]*$ | ^~/ | ^[a-z]:\\ | ^\[redacted
    | ^(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w+)\b | ^AAAA[BCE][0-9][VN][jz]
    | ^[\w.$]+\ (?:\|\||\?\?|&&)\ [\w.$]
    | ^[a-z_]+(?::[\w,.*/-]+)?(?:\|[a-z_]+(?::[\w,.*/-]+)?)+$
    | ^[*.…•x\#?_=+-]+$ | ^(?:sha(?:1|256|384|512)[-:]|md5[-:]) | ^(?:application|text|image)/
    | ^\#\{@?[a-z_]\w*[\[.(] | ^--?[a-z][a-z-]*=?$ | ^\.{1,2}/[\w.-] | ^[*]+(?:[a-z_]\w*\.)?[a-z_]\w*$
    | ^[/:._-]*\{[a-z_]\w*\}$
    | ^["'`]?\ ?\+\ ?[a-z_$][\w.$]*[();,+\[] | ^["'`]\ [+.]\ .+\ [+.]\ ["'`]$ | ^\.\$\w
    | ^[a-z_]+(?:\|[a-z_]+(?::\\?"[^"]*")?)+$ | \[\^?\w-\w[^\]]*\]
    | ^[a-z0-9-]+(?:\.[a-z0-9-]+)+/[a-z][a-z0-9.-]*$ | ^\d{1,5}\ ?\[ """
)
# Versions, ranges of versions and object identifiers, as lock files and manifests list them.
_VERSION: Final = re.compile(
    r"""(?x) (?:(?:npm|workspace|catalog|patch|portal|link):\S*
    | [\^~<>=v\ ]* \d+(?:\.(?:\d+|[x*]))+ (?:[-+.=_@]\w+)* (?:\(.*\) | \\x00)?) (?:\ \|\|\ .*)?"""
)
# A place in a file, printed in replies after a name: `issue_pass ./rbac/mod.rs:236`.
_LOCATION: Final = re.compile(r"(?P<path>(?:[\w@.-]*/)+[\w@.-]+\.[A-Za-z]\w{0,7}):\d+(?:-\d+)?")
_BLANK: Final = re.compile(
    r"(?i)example|changeme|change[-_. ]?(?:me|this|it)|replace[-_. ]?(?:me|this|with)|placeholder|redacted|xxxx|\*\*\*|"
    r"\.\.\.|…|your[-_. ]|^your|<[a-z]|insert[-_. ]|dummy|^(?:my|the|some|any)[-_](?:secret|pass|token|key|api)|fake|"
    r"goes[-_. ]here|(?:[-_. ]|password|token|key|secret)here$|^todo|^fixme|^tbd|not[-_. ]a[-_. ]|0{12}|"
    r"123456789012|0123456789|abcdefgh|"
    r"^258EAFA5-E914-47DA-95CA-C5AB0DC85B11$"  # WebSocket's constant
)
_NEVER: Final = re.compile(r"(?i)EXAMPLE|x{5}|your[-_]|placeholder|redacted|changeme|\.\.\.|0{12}|dummy|sample")

_KEY: Final = re.compile(r"[A-Za-z0-9+/=_\-.~!@#$%^&*]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_SEPARATORS: Final = re.compile(r"[^A-Za-z0-9+]")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENCODINGS: Final = re.compile(
    r"(?i)^(?:[hrep]s(?:256|384|512)|utf-?(?:8|16|32)|base(?:32|58|64)(?:url)?|oauth-?2?(?:\.0)?|oauth1|latin-?1|"
    r"iso-?8859-\d+|v?\d+(?:\.\d+)+\w*|\d{4}-\d\d-\d\d.*|sha-?\d+|md5|x509|ed25519|pbkdf2\w*|bcrypt|argon2\w*|"
    r"aes-?\d+\S*|rsa-?\d+|\d{1,5}|\d+(?:ms|s|m|h|d|px|em|kb|mb)|x-[a-z-]+|[a-z]+\d?-[a-z]+-token|p-?\d+|secp\w+|"
    r"http/?\d.*)$"
)
_LOWER: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
# Made-up passwords of tests and forms: `newpassword`, `testclient`, `somesecret`.
_MEANT: Final = re.compile(r"pass|pw|secret|token|test|user|client|foo|bar|abc|new|old|some|wrong|correct")
_COMMON_SHARE: Final = 0.45


@lru_cache(1024)
def kind_of(path: str) -> ContentKind:
    if not path:
        return ContentKind.TEXT
    if _LABELS.search(path):
        return ContentKind.LABELS
    name = path.rpartition("/")[2].lstrip("._").lower()
    ending = name.rpartition(".")[2]
    if ending in words("code") and "." in path:
        return ContentKind.CODE
    is_config = ending in words("config") or name.startswith(("env.", "env-", "dockerfile.", "pgpass."))
    return ContentKind.CONFIG if is_config else ContentKind.TEXT


def is_blank(value: str) -> bool:
    """A placeholder in the format of a token: `ghp_xxxxxxxx`, `AKIAIOSFODNN7EXAMPLE`."""
    return bool(_NEVER.search(value)) or len(set(value[4:])) <= SHORTEST


def is_random(value: str) -> bool:
    """Whether the value is probably generated."""
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if len(value) < 8 or len(set(value)) < 6 or not letters:  # noqa: PLR2004 - too short to decide
        return False
    if digits:
        changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
        # `abc1` and `v2-beta` change less often between letters and digits.
        if changes >= 4 or (changes >= 2 and common_share(value) < _COMMON_SHARE):  # noqa: PLR2004 - see above
            return True
    parts = _WORD.findall(value)
    # Capitals everywhere: the words of camelCase are longer.
    if len(parts) >= 4 and letters / len(parts) < 2.5:  # noqa: PLR2004 - measured on names and on random letters
        return True
    return letters >= 8 and common_share(value) < _COMMON_SHARE and not _words_of(value) <= words("vocabulary")  # noqa: PLR2004


def common_share(value: str) -> float:
    """The share of its pairs of letters that are common in English."""
    pairs = [a + b for a, b in pairwise(value.lower()) if a.isalpha() and b.isalpha()]
    return sum(pair in words("pairs") for pair in pairs) / len(pairs) if pairs else 0.0


def is_location(value: str) -> bool:
    match = _LOCATION.fullmatch(value)
    return match is not None and language_of(match["path"]) != PLAIN


def is_placeholder(value: str) -> bool:
    """A placeholder for a secret, or a reference to one."""
    if len(value) < SHORTEST or len(set(value)) < 3:  # noqa: PLR2004 - aaaa, abab
        return True
    if _REFERENCE.search(value) or _BLANK.search(value) or _ENCODINGS.search(value) or is_location(value):
        return True
    if _VERSION.fullmatch(value):
        return True
    return value.isalpha() and (
        value.lower() in words("vocabulary") or value.lower().removeprefix("my") in words("vocabulary")
    )


@lru_cache(4096)
def is_secret(value: str, sort: Sort, kind: ContentKind, *, quoted: bool, assigned: bool = False) -> bool:
    """`assigned`: the field is set to this value, not compared with it or passed next to it."""
    value = value[:ENOUGH]
    if len(value) < SHORTEST_OF[sort] or (kind is ContentKind.LABELS and is_label(value)) or is_placeholder(value):
        return False
    if sort in {Sort.KEY, Sort.RANDOM}:
        is_key = sort is Sort.KEY and (_UUID.fullmatch(value) or (assigned and "-" in value and is_passphrase(value)))
        return is_long_random(value) or bool(is_key)
    if kind is ContentKind.LABELS:
        return is_mixed(value) and (sort is Sort.PASSWORD or is_random(value))
    if sort is Sort.TOKEN:
        return is_token(value, kind, quoted=quoted, assigned=assigned)
    if any(map(str.isspace, value)):
        return quoted and (is_jumble(value) or is_passphrase(value))
    return is_password(value, kind, quoted=quoted, assigned=assigned)


def is_named_after(value: str, name: str) -> bool:
    """Whether the value repeats its name, as constants that contain a name do: `ACCESS_KEY = "ACCESS_KEY"`."""
    if not re.fullmatch(r"[\w.-]+", value):
        return False
    words_of_value, words_of_name = _joined(value), _joined(name)
    return words_of_value == words_of_name or (
        bool(re.search(r"[A-Za-z][-_.][A-Za-z]", value)) and words_of_value in words_of_name
    )


def is_product(value: str, name: str) -> bool:
    """Whether it is the identifier of a product: `NordPass = "b84e4048-15dc-..."`."""
    return bool(re.search(r"[a-z]pass$|[a-z]Pass$", name) and _UUID.fullmatch(value))


def _joined(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def is_label(value: str) -> bool:
    return " " in value or not value.isascii()


def is_token(value: str, kind: ContentKind, *, quoted: bool, assigned: bool) -> bool:
    if any(map(str.isspace, value)):
        return quoted and (is_jumble(value) or (assigned and is_passphrase(value)))
    if is_random(value):
        return True
    # Some tokens are chosen by people: `my-very-secret-token-2024`, `correct-horse-battery-staple`.
    if not (quoted or kind is ContentKind.CONFIG):
        return False
    made_up = (assigned or kind is ContentKind.CONFIG) and any(map(str.isdigit, value)) and is_mixed(value)
    chosen = kind is ContentKind.CONFIG and is_chosen(value, kind, assigned=assigned)
    return made_up or chosen or ("-" in value and is_passphrase(value))


def is_password(value: str, kind: ContentKind, *, quoted: bool, assigned: bool) -> bool:
    if kind is ContentKind.CODE and not quoted:
        return is_mixed(value) and not is_name(value)
    return is_mixed(value) or is_chosen(value, kind, assigned=assigned) or is_passphrase(value)


def is_jumble(value: str) -> bool:
    """Whether it has spaces but is not prose: fewer than half of its parts are words or numbers."""
    parts = [part.strip(".,:;!?()\"'") for part in value.split()]
    words_and_numbers = sum(part.isalpha() or part.isdigit() or not part for part in parts)
    # ` | :word: | ` between two quotes has nothing of a password.
    has_unusual = any(any(map(str.isalnum, part)) and not (part.isalpha() or part.isdigit()) for part in parts)
    return has_unusual and words_and_numbers * 2 < len(parts)


def is_mixed(value: str) -> bool:
    """Whether letters are mixed with digits or punctuation, unlike in a word."""
    parts = _words_of(value)
    if parts and parts <= words("vocabulary") and not re.search(r"[^\w.\-:/ ]", value):
        return False
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if digits and letters:
        return True
    if re.search(r"[^\w.\-:/@ ,+'\[\]()]", value) and letters:
        return not re.search(r"""^[#.][A-Za-z][\w-]*$|[=<>|(]\w*["')]|\\[dws]|[.]{2}|[:?!,;]$""", value)
    return is_random(value)


def is_strong(value: str) -> bool:
    """As the rules for passwords demand it: letters, digits and a sign that names, paths and formats do not have."""
    kinds = any(map(str.isalpha, value)), any(map(str.isdigit, value)), any(sign in value for sign in "!@#$%^&*?~")
    is_one_word = not any(map(str.isspace, value)) and len(value) >= 8  # noqa: PLR2004 - as the rules demand
    return is_one_word and all(kinds) and is_mixed(value) and not is_placeholder(value)


def is_chosen(value: str, kind: ContentKind, *, assigned: bool) -> bool:
    """Whether it is one or several words that somebody may have chosen as a password."""
    if value.istitle() or not value.isascii() or re.search(r"[/:.()\[\]]", value):
        return False
    parts = re.split(r"[-_+ ]", value.lower())
    if any(part in words("vocabulary") for part in parts):
        return False
    if kind is ContentKind.CONFIG:
        return True
    # In code a name has underscores or capitals; a password that somebody chose has neither.
    return assigned and len(value) >= SHORTEST_CHOSEN and bool(_LOWER.fullmatch(value)) and not _MEANT.search(value)


def is_passphrase(value: str) -> bool:
    """Whether it is four or more lower-case words with one separator, such as `correct-horse-battery-staple`: at most a
    quarter of them are common in programs or texts."""
    if len(set(re.findall(r"[-_ ]", value))) != 1:
        return False
    parts = re.split(r"[-_ ]", value)
    if len(parts) < PASSPHRASE or not all(part.isalpha() and part.islower() and part.isascii() for part in parts):
        return False
    plain = sum(part in words("vocabulary") or part in words("text") for part in parts)
    return plain * 4 <= len(parts)


def is_long_random(value: str) -> bool:
    """Whether it is certainly generated: one long run of letters and digits, possibly with punctuation."""
    if not _KEY.fullmatch(value):
        return False
    longest = max(_SEPARATORS.split(value), key=len)
    if len(longest) >= SHORTEST_RUN and is_random(longest):
        return any(map(str.isdigit, longest)) or common_share(longest) < _COMMON_SHARE
    if _UUID.fullmatch(value):
        return False
    kinds = sum(any(map(kind, value)) for kind in (str.islower, str.isupper, str.isdigit))
    signs = sum(character in "!@#$%^&*~+" for character in value)
    return kinds == 3 and (signs > 1 or common_share(value) < _COMMON_SHARE)  # noqa: PLR2004 - all of them


def is_name(value: str) -> bool:
    """Whether it is an identifier: `user1`, `self.token2`, `v1.Secret`."""
    if not re.fullmatch(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*\(?\)?", value):
        return False
    return not is_random(value)


def _words_of(value: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(value)}
