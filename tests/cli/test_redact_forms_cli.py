"""Common ways to write a secret, and lookalikes, as `llmc redact` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from daemons import private_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemons import Place

RANDOM = "QxXvyB3Fi151ppGCNXymDd3oqkJsLLX4"
HUMAN = "Trombone!1698x"
TOKEN = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
AWS = "AKIA" + "Q3EGRPZ7LMNOPQ2X"
JWK = "Ur2bNKuBPOrAaxsRnbSH6hIhmNTxSGXshDSUD1a1y7g"

# `{}` stands for the secret.
SECRETS = {
    "calls.py": [
        ('jwt.encode(payload, "{}", algorithm="HS256")', RANDOM),
        ("hmac.new(b'{}', body, 'sha256')", RANDOM),
        ("AES.new(b'{}', AES.MODE_CBC)", RANDOM),
        ('login("ann@example.com", "{}")', HUMAN),
        ('User.objects.create_user("bob", "b@example.com", "{}")', HUMAN),
        ("make_password('{}')", HUMAN),
        ("ENCRYPTION_KEY = bytes.fromhex('{}')", "a6bebe7257eab7578e2dde43a3c109b04c0f05101f29c0add94d5a0018051b62"),
        ('token = os.environ.get("TOKEN") or "{}"', RANDOM),
        ("PEPPER = '{}'", RANDOM),
    ],
    "calls.js": [
        ("jwt.sign(user, '{}')", RANDOM),
        ("crypto.createHmac('sha256', '{}')", RANDOM),
        ("process.env.DB_PASSWORD || '{}'", HUMAN),
        ("await page.getByLabel('Password').fill('{}')", HUMAN),
    ],
    "Calls.java": [
        ('new PBEKeySpec("{}".toCharArray());', HUMAN),
        ('@Value("${{db.password:{}}}")', "winter9054Zz"),
        ('.signWith(SignatureAlgorithm.HS512, "{}")', RANDOM),
        ('env.put(Context.SECURITY_CREDENTIALS, "{}");', HUMAN),
    ],
    "calls.go": [('Secret: []byte("{}"),', RANDOM), ('dsn := "root:{}@tcp(127.0.0.1:3306)/app"', "monsoon_3925Zz")],
    "calls.php": [
        ("new PDO('mysql:host=x', 'root', '{}');", HUMAN),
        ("curl_setopt($ch, CURLOPT_USERPWD, '{}');", f"user:{HUMAN}"),
        ("define('AUTH_SALT', '{}');", "SyfY25rkafjIocKXNqV0NZIJEeduFl60|;0RHTxFgOuUTqKZOxj9XD"),
    ],
    "device.cpp": [('WiFi.begin("home", "{}");', HUMAN), ('std::string dbPass{{"{}"}};', HUMAN)],
    "deploy.sh": [
        ("echo '{}' | docker login --password-stdin", RANDOM),
        ("htpasswd -b users admin {}", "355IeG6BCBCmnk"),
        ("aws configure set aws_secret_access_key {}", "z4dkQuS/Zg1YC+KBiDJbR4jWudxmbgidmAiWW3vF"),
        ("zip -P {} a.zip b", "NdJnSGiqKnueT1"),
        ("sqlcmd -S h -U sa -P {}", "winter%8892"),
        ("rclone config create x s3 secret_access_key {}", RANDOM),
    ],
    "data.yml": [("auth_token: !!str {}", RANDOM), ("snmp_community: {}", "qpbjcmlf6aid"), ("hash_salt: {}", RANDOM)],
    "keys.json": [('{{"kty": "EC", "d": "{}"}}', JWK)],
    "seed.sql": [
        ("INSERT INTO users (id, name, password) VALUES (1, lower('X'), '{}');", HUMAN),
        ("INSERT INTO t (a, password) VALUES ('b', NULL), ('c', '{}');", HUMAN),
    ],
    "notes.md": [
        ("Login: `admin` / `{}`", HUMAN),
        ("log in as `demo` with password `{}`", HUMAN),
        ("- **Password**: `{}`", HUMAN),
        ("Default credentials: admin/{}", HUMAN),
        ("password for ann is {}", "rz5xSMND2zcj"),
        ("A temporary password is generated for root@localhost: {}", "ycREw011j!;Os3"),
        ("X-Amz-Signature={}", "d3f2348a03c5f0ea6dc4649b8cd56cd251cf10239ca67079f145339f4746f208"),
    ],
    # Inside a name, where a letter or an underscore is beside the token.
    "names.txt": [("class Client_{}:", TOKEN), ("backup_{}_old.csv", AWS)],
}

HARMLESS = {
    "calls.py": [
        'jwt.decode(token, public_key, algorithms=["RS256"])',
        'login("dashboard", "index")',
        'key_salt = "django.contrib.auth.tokens.PasswordResetTokenGenerator"',
        "salt = os.urandom(16)",
        "key_salt=LEGACY_SALT",
        'password = from_env("DB_PASSWORD")',
        'assert manifest["author"] == app_manifest["author"]',
        'encoder.matches(PASSWORD, "$2a$10$invalid")',
        'create_user("john.doe", "John", "Doe Smith", "john.doe@example.com")',
        'command.set(Command.KEY_DATA, "RELAY,0000,On#")',
    ],
    "calls.js": [
        'signIn("credentials", "redirect")',
        'jwt.sign(payload, process.env.JWT_SECRET!, { expiresIn: "1h" })',
        "Buffer.from('hello world')",
    ],
    "rules.php": ["'password' => 'required|string|min:8|confirmed',", "'password' => bcrypt($data['password']),"],
    "deploy.sh": [
        'echo "$PASS" | docker login --password-stdin',
        "htpasswd -c /etc/nginx/users bob",
        "aws configure set region eu-west-1",
        "zip -r out.zip dir",
    ],
    "data.yml": ["token: !Ref ApiToken", "snmp_community: public", "hash_salt: ''", "salt_version: 3006.1"],
    "drawing.json": ['{"d": "M12 2L2 7l10 5 10-5-10-5zM2 17l10 5 10-5M2 12l10 5 10-5"}'],
    "seed.sql": [
        "INSERT INTO users (name, password) VALUES ($1, $2);",
        "INSERT INTO users (name, password_hint) VALUES ('x', 'the dog');",
    ],
    "notes.md": [
        "Login: `GET` / `api/v1/login`",
        "Account `main` with `role-1`",
        "Set a new password: see below",
        "- **`ADMIN_PASSWORD`** - the admin password *(default: auto-generated)*",
        "| :bell_pepper: | `:bell_pepper:` | :cucumber: | `:cucumber:` | [top](#contents) |",
    ],
    "names.txt": ["get_fw_ConfigurationManagerFactory", "my_hf_internalconfigurationmanagerfactoryx"],
}


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with private_place() as made:
        yield made


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_in_an_everyday_form_goes_and_the_rest_of_its_line_stays(
    place: Place, tmp_path: Path, name: str
) -> None:
    lines = [(form.format(secret), form.format("\0"), secret) for form, secret in SECRETS[name]]
    (tmp_path / name).write_text("\n\n".join(line for line, _, _ in lines))
    shown = place.llmc("redact", name, cwd=tmp_path).stdout.rstrip("\n").split("\n\n")
    for line, (_, around, secret) in zip(shown, lines, strict=True):
        before, after = around.split("\0")
        assert secret not in line
        assert line.startswith(f"{before.rstrip(chr(34) + chr(39))}"), line
        assert line.endswith(after.lstrip("\"'")), line
        assert "[redacted:" in line


@pytest.mark.parametrize("name", HARMLESS)
def test_what_looks_like_such_a_form_stays(place: Place, tmp_path: Path, name: str) -> None:
    text = "\n\n".join(HARMLESS[name]) + "\n"
    (tmp_path / name).write_text(text)
    assert place.llmc("redact", name, cwd=tmp_path).stdout == text


def test_each_literal_of_a_key_in_several_literals_goes(place: Place, tmp_path: Path) -> None:
    parts = ["vWG+HTG0vmZzujQ2o9WdheQu+BzCILcGMsbDW0YQ", "Q2/7nP9QwbiTK0FbGF41UqcvoaCqU1psxoV88s8I"]
    (tmp_path / "Keys.java").write_text(f'String privateKey = "{parts[0]}" +\n    "{parts[1]}";\n')
    (tmp_path / "keys.py").write_text(f'SIGNING_KEY = (\n    "{parts[0]}"\n    "{parts[1]}"\n)\n')
    (tmp_path / "list.py").write_text(f'digests = ["{parts[0]}", "{parts[1]}"]\n')
    for name in ("Keys.java", "keys.py"):
        shown = place.llmc("redact", name, cwd=tmp_path).stdout
        assert not any(part in shown for part in parts)
    assert parts[1] in place.llmc("redact", "list.py", cwd=tmp_path).stdout
