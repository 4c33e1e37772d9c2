"""Is this value a secret, or does it stand for one: a placeholder, a reference, a type, a label, a name?

A value is judged together with how it was written. In code a bare word is a variable and a quoted plain word mostly a
name; in a config file a plain word after `password:` is the password. What machines make is told from what people
write by pairs of letters: in English text three pairs of four are among the common ones, in random letters one of
four.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from llmc.envelope.secret.names import Sort

__all__ = ["Kind", "is_blank", "is_placeholder", "is_random", "is_secret", "kind_of"]


class Kind(StrEnum):
    """What a file is to us. LABELS: texts for people, where `password` is what a field is called."""

    CONFIG = "config"
    CODE = "code"
    TEXT = "text"
    LABELS = "labels"


SHORTEST: Final = 4
SHORTEST_TOKEN: Final = 10
PASSPHRASE: Final = 4  # words

_CONFIG: Final = re.compile(
    r"(?i)(?:^|[/.])(?:env|ini|cfg|conf|cnf|config|properties|ya?ml|toml|json5?|xml|plist|tf|tfvars|tfstate|netrc|"
    r"_netrc|npmrc|yarnrc|pypirc|pgpass|htpasswd|service|reg|sh|bash|zsh|fish|ps1|bat|cmd|dockerfile|credentials|"
    r"htaccess|my\.cnf|sql|pgpass\.conf|authinfo|envrc|hcl|nomad|desktop|neon|kdl|edn|ovpn|nmconnection|"
    r"env[._-][\w.-]+|containerfile|vault|secrets?)$"
)
_CODE: Final = re.compile(
    r"(?i)\.(?:py|pyi|pyx|ipynb|js|jsx|mjs|cjs|ts|tsx|mts|go|java|kt|kts|scala|groovy|gradle|rb|rs|c|h|cc|cpp|cxx|hpp|"
    r"hh|cs|fs|vb|php|swift|m|mm|dart|ex|exs|erl|hrl|hs|lhs|ml|mli|clj|cljs|lua|pl|pm|r|jl|nim|zig|v|d|pas|ada|f90|"
    r"vue|svelte|html?|jinja2?|j2|tmpl|erb|ejs|css|scss|less|sol|proto|graphql|cu|cr|tcl|el|lisp|scm|rkt|sv|vhd)$"
)
_LABELS: Final = re.compile(
    r"(?i)(?:^|/)(?:locales?|i18n|l10n|langs?|languages?|translations?|intl|messages|strings|nls)/|"
    r"\.(?:po|pot|arb|resx|xlf|xliff|strings|ftl)$|(?:^|/)(?:strings|messages|locale|translations?)[\w-]*\.\w+$|"
    r"(?:^|/)[a-z]{2}(?:[-_][A-Za-z]{2})?\.(?:json|ya?ml|properties|ts|js|php|toml)$|"
    r"_[a-z]{2}(?:_[A-Z]{2})?\.properties$"
)

_REFERENCE: Final = re.compile(
    r"""(?ix) \$\{ | \{\{ | <% | %\( | \$\( | ^%[sdr@]?$ | ^%\w+%$ | ^\$+\w+$ | ^\$env: | ^\$\w+[\[>.:-] | ^[{<(\[].*[})>\]]$ | ^<
    | ^[:@?]\w*$ | ^![a-z] | ^[&*][a-z_]\w*$ | ^enc[\[(:] | ^(?:vault|env|ssm|file|ref|op|secretsmanager|awssm|keyring|arn|projects|data)[:/]
    | ^\{cipher\} | ^\\[nu]? | process\.env | os\.environ | getenv | environ\b | ^env\b | ^env[(\[] | \bsecrets?\.[a-z] | ^(?:var|local|self|this|settings|config|data
    |module|args|opts|options|params|request|req|ctx|context|props|state|app|each|values|inputs|vars|steps|needs|github|credentials)[.\[>-]
    | ^(?:https?|ftp|s3|gs|jdbc):/ | ^\.{0,2}/(?:[a-z_.-]+/)*[a-z_.-]*$ | ^~/ | ^[a-z]:\\ | ^\[redacted
    | ^[*.…•x#?_=+-]+$ | ^(?:sha(?:1|256|384|512)[-:]|md5[-:]) | ^(?:application|text|image)/ """
)
_BLANK: Final = re.compile(
    r"(?i)example|changeme|change[-_. ]?(?:me|this|it)|replace[-_. ]?(?:me|this|with)|placeholder|redacted|xxxx|\*\*\*|\.\.\.|…|"
    r"your[-_. ]|^your|<[a-z]|insert[-_. ]|dummy|^(?:my|the|some|any)[-_](?:secret|pass|token|key|api)|goes[-_. ]here|"
    r"[-_. ]here$|fake|^todo|^fixme|^tbd|not[-_. ]a[-_. ]|0{12}|123456789012"
)
_NEVER: Final = re.compile(r"(?i)EXAMPLE|x{5}|your[-_]|placeholder|redacted|changeme|\.\.\.|0{12}|dummy|sample")
_VOCABULARY: Final = frozenset(
    "password passwd passphrase pass pwd pw passwort secret secrets token tokens key keys api apikey access auth oauth bearer basic jwt "
    "test tests testing tester demo sample example dummy fake mock stub foo bar baz qux quux spam eggs default none null nil "
    "undefined true false yes no on off string str text bytes int integer number bool boolean any object varchar char "
    "required optional unset empty blank hidden masked private public my your the a an some new old current user "
    "username name login email admin client server app service id value field form input label hint error message "
    "invalid wrong correct valid bad good right reset change confirm confirmation forgot forgotten show hide type "
    "header cookie session csrf xsrf refresh code grant credentials credential github google aws azure gcp openai stripe slack "
    "url uri path file env var variable config settings option not set is required self this hash hashed salt encrypted "
    "plain random generated auto prompt ask require peer trust md5 sha scram ident param params data body query "
    "first second third one two three other another x y z abc xyz lorem ipsum enter please choose create update delete "
    "get put post read write only field length min max strong weak strength validator validators validation "
    "encoder hasher manager store provider helper view page screen dialog modal button link icon placeholder hmac rsa aes "
    "sso saml ldap mfa otp totp pin hello world hunter-not bearerauth apikeyauth http https json xml html form "
    "long short same different unused missing expired stale fresh valid1 from with for of in to and or by at as it".split()
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENCODINGS: Final = re.compile(
    r"(?i)^(?:[hrep]s(?:256|384|512)|utf-?(?:8|16|32)|base(?:32|58|64)(?:url)?|oauth-?2?(?:\.0)?|oauth1|latin-?1|iso-?8859-\d+|"
    r"v?\d+(?:\.\d+)+\w*|\d{4}-\d\d-\d\d.*|sha-?\d+|md5|x509|ed25519|pbkdf2\w*|bcrypt|argon2\w*|aes-?\d+\S*|"
    r"rsa-?\d+|\d+(?:ms|s|m|h|d|px|em|kb|mb)?|x-[a-z-]+|[a-z]+\d?-[a-z]+-token|p-?\d+|secp\w+|http/?\d.*)$"
)
_PAIRS: Final = frozenset(
    "th he in er an re nd on en at ou ed ha to or it is hi es ng st ar te se me nt ti ve ea le al ce ro ri co de ra io "
    "ic li il ch ur la ne om ta el ec no ho as si et us ot ll ma tr ee di un so ow wo sh ct mo ni ss be ut ac ad ai am "
    "ap ay bl bo ca ci ck cl cr cu da do ef ei em ep ev ew ex fa fe fi fo fr ge gi go gr if ig im ir iv ke ki ld lo ly "
    "mb mi mp my na nc nf ns oc od oi ok ol oo op os pa pe pi pl po pr pt qu rd rm rs rt ru ry sc sp ss su tt tu ty ul "
    "um up va vi wa we wh wi ye yo".split()
)
_COMMON_SHARE: Final = 0.45


@lru_cache(1024)
def kind_of(path: str) -> Kind:
    if not path:
        return Kind.TEXT
    if _LABELS.search(path):
        return Kind.LABELS
    return Kind.CODE if _CODE.search(path) else Kind.CONFIG if _CONFIG.search(path) else Kind.TEXT


def is_blank(value: str) -> bool:
    """A token's form filled with nothing: `ghp_xxxxxxxx`, `AKIAIOSFODNN7EXAMPLE`."""
    return bool(_NEVER.search(value)) or len(set(value[4:])) <= SHORTEST


def is_random(value: str) -> bool:
    """Made by a machine, as far as one can tell."""
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if len(value) < 8 or len(set(value)) < 6 or not letters:  # noqa: PLR2004 - too little to tell
        return False
    if digits:
        changes = sum(a.isdigit() != b.isdigit() for a, b in zip(value, value[1:], strict=False))
        if changes >= 4 or (changes >= 2 and common_share(value) < _COMMON_SHARE):  # noqa: PLR2004 - `abc1` and `v2-beta` have fewer
            return True
    return letters >= 8 and common_share(value) < _COMMON_SHARE and not _words_of(value) <= _VOCABULARY  # noqa: PLR2004


def common_share(value: str) -> float:
    """How many of the pairs of letters are common in English; camelCase and snake_case have seams, which do not count."""
    pairs = [
        a + b.lower() if a.islower() or b.isupper() else a.lower() + b
        for a, b in zip(value, value[1:], strict=False)
        if a.isalpha() and b.isalpha()
    ]
    return sum(pair.lower() in _PAIRS for pair in pairs) / len(pairs) if pairs else 0.0


def is_placeholder(value: str) -> bool:
    """It stands for a secret, or says where one comes from."""
    if len(value) < SHORTEST or len(set(value)) < 3:  # noqa: PLR2004 - aaaa, abab
        return True
    if _REFERENCE.search(value) or _BLANK.search(value) or _ENCODINGS.search(value):
        return True
    return value.isalpha() and value.lower() in _VOCABULARY


def is_secret(value: str, sort: Sort, kind: Kind, *, quoted: bool) -> bool:
    if is_placeholder(value):
        return False
    if any(map(str.isspace, value)):
        return quoted and sort is Sort.PASSWORD and kind is Kind.CONFIG and is_random(value.replace(" ", ""))
    if sort is Sort.TOKEN:
        return len(value) >= SHORTEST_TOKEN and is_random(value)
    if kind is Kind.LABELS:
        return is_mixed(value) and value.isascii()
    if kind is not Kind.CONFIG and not quoted:
        return is_mixed(value) and not is_name(value)
    return is_mixed(value) or is_chosen(value, kind)


def is_mixed(value: str) -> bool:
    """Letters with digits or signs among them, as nobody writes a word."""
    words = _words_of(value)
    if words and words <= _VOCABULARY and not re.search(r"[^\w.\-:/ ]", value):
        return False
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if digits and letters:
        return True
    if re.search(r"[^\w.\-:/@ ,+'\[\]()]", value) and letters:
        return not re.search(r"""^[#.]\w|[=<>|(]\w*["')]|\\[dws]|[.]{2}|[:?!,;]$""", value)
    return is_random(value)


def is_chosen(value: str, kind: Kind) -> bool:
    """A word or a run of words that somebody took for a password."""
    parts = re.split(r"[-_.+ ]", value)
    if any(part.lower() in _VOCABULARY for part in parts) or not value.isascii():
        return False
    if kind is Kind.CONFIG:
        return not value.istitle() and not re.search(r"[/:.()\[\]]", value) and not value.isdigit() or value.isdigit() and len(value) >= 6  # noqa: PLR2004 - a number of fewer digits is a setting
    return len(parts) >= PASSPHRASE and all(part.isalpha() for part in parts) and "." not in value


def is_name(value: str) -> bool:
    """What a program calls something: `user1`, `self.token2`, `v1.Secret`."""
    if not re.fullmatch(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*\(?\)?", value):
        return False
    return not is_random(value)


def _words_of(value: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(value)}
