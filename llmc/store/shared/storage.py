"""The objects of a shared index beside its tables, and the translation of storage errors.

`Storage` reads and writes small objects (the description of the index, statistics, handles) and can create one only
if it does not exist, which LanceDB's commits depend on as well: storage that ignores such conditional writes would
lose commits silently and is rejected. Credentials come from the standard environment of each provider; neither they
nor the replies of the storage are ever part of a message.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from llmc.base.errors import (
    ConfigError,
    ConflictError,
    CorruptStoreError,
    LlmcError,
    NotFoundError,
    StorageError,
    StoreError,
    StoreFullError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Storage", "StoredObject", "checked_url", "storage_errors"]

SCHEMES = ("s3", "gs", "az")
# For reading several objects in parallel.
READERS = ThreadPoolExecutor(32, "llmc-objects")
# A storage that does not respond must not delay a query: object_store would retry for three minutes.
CONNECT_SECONDS, REQUEST_SECONDS, RETRY_SECONDS, RETRIES = 3, 20, 10, 3
# The names of LanceDB.
OPTIONS = {
    "connect_timeout": f"{CONNECT_SECONDS}s",
    "timeout": f"{REQUEST_SECONDS}s",
    "client_retry_timeout": str(RETRY_SECONDS),
    "client_max_retries": str(RETRIES),
    "allow_http": "true",  # for an endpoint whose URL begins with http://
}
ENVIRONMENT = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "": "the permissions of the folder",
}


def checked_url(url: str) -> str:
    """The location in the form of LanceDB: a URL of object storage, or the absolute path of a folder."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        if not url.strip():
            raise ConfigError("no shared index is given", hint="Use --shared URL, or set shared.url.")
        return str(Path(url).expanduser().absolute())
    if scheme == "file":
        return str(Path(urlsplit(url).path).absolute())
    parts = urlsplit(url)
    if scheme not in SCHEMES:
        raise ConfigError(
            f"cannot use storage of the kind {scheme!r}", hint="Use s3://, gs://, az:// or the path of a folder."
        )
    if parts.username or parts.password or parts.query or not parts.hostname:
        raise ConfigError(
            "the URL of a shared index is a bucket and a prefix",
            reason="credentials and options do not belong in it" if parts.hostname else "it names no bucket",
            hint=f"Write {scheme}://bucket/prefix and set {ENVIRONMENT[scheme]}.",
        )
    return url.rstrip("/")


class StoredObject(NamedTuple):
    name: str
    size: int
    modified: float  # seconds since the epoch, by the clock of the storage


class Storage:
    """Small objects below the URL of a shared index."""

    def __init__(self, url: str, *, create: bool = False) -> None:
        """`create`: create a folder that does not exist."""
        self.url = checked_url(url)
        self.scheme = self.url.partition("://")[0] if "://" in self.url else ""
        if not self.scheme and not create and not Path(self.url).is_dir():
            raise NotFoundError(f"there is no folder {self.url}", hint="Check the path of the shared index.")
        with storage_errors(self.url, "opening the storage"):
            self._store = self._open()

    def _open(self) -> Any:
        try:
            from obstore.store import LocalStore, from_url  # noqa: PLC0415 - an extra, and 20 ms
        except ImportError:
            raise ConfigError(
                "shared indexes need the extra packages of llmc",
                hint='Install them with: pip install "llmc-index[shared]"',
            ) from None
        if not self.scheme:
            return LocalStore(self.url, mkdir=True)
        client: Any = {"connect_timeout": f"{CONNECT_SECONDS}s", "timeout": f"{REQUEST_SECONDS}s", "allow_http": True}
        retry: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
        return from_url(self.url, client_options=client, retry_config=retry)

    def read(self, name: str) -> bytes | None:
        """None if there is no such object."""
        import obstore  # noqa: PLC0415 - see `_open`

        with storage_errors(self.url, f"reading {name}"):
            try:
                return bytes(obstore.get(self._store, name).bytes())
            except FileNotFoundError:
                return None

    def read_many(self, names: Collection[str]) -> dict[str, bytes]:
        """Several objects at the same time; those that do not exist are left out."""
        found = zip(names, READERS.map(self.read, names), strict=True)
        return {name: data for name, data in found if data is not None}

    def write(self, name: str, data: bytes) -> None:
        import obstore  # noqa: PLC0415 - see `_open`

        with storage_errors(self.url, f"writing {name}"):
            obstore.put(self._store, name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write an object that does not exist yet; False if it does."""
        import obstore  # noqa: PLC0415 - see `_open`
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - see `_open`

        with storage_errors(self.url, f"creating {name}"):
            try:
                obstore.put(self._store, name, data, mode="create")
            except AlreadyExistsError:
                return False
            return True

    def delete(self, names: Iterable[str]) -> None:
        import obstore  # noqa: PLC0415 - see `_open`

        with storage_errors(self.url, "deleting objects"):
            for name in names:
                try:
                    obstore.delete(self._store, name)
                except FileNotFoundError:
                    continue

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        import obstore  # noqa: PLC0415 - see `_open`

        with storage_errors(self.url, "listing objects"):
            for batch in obstore.list(self._store, prefix or None):
                for one in batch:
                    yield StoredObject(one["path"], one["size"], one["last_modified"].timestamp())

    def require_conditional_writes(self) -> None:
        """StorageError if a second writer could replace an object that the first one created."""
        name = f"probe/{uuid4().hex}"
        try:
            self.create(name, b"first")
            if not self.create(name, b"second"):
                return
        finally:
            self.delete([name])
        raise StorageError(
            "this storage cannot hold a shared index",
            reason="it ignores conditional writes (If-None-Match), so that concurrent publishers would lose commits",
            hint="Use a storage that supports them: Amazon S3, Google Cloud Storage, Azure, MinIO, SeaweedFS.",
        )


@contextmanager
def storage_errors(url: str, doing: str) -> Iterator[None]:
    """Translate what obstore and LanceDB raise; messages of the storage are classified and not passed on."""
    try:
        yield
    except (LlmcError, FileNotFoundError, KeyboardInterrupt):
        raise
    except (ValueError, RuntimeError, OSError) as error:
        raise classified(error, url, doing) from error
    except Exception as error:
        if type(error).__module__.startswith("obstore"):
            raise classified(error, url, doing) from error
        raise
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise classified(error, url, doing) from error
        raise


FULL = re.compile(
    r"no space left|os error 28|status: 507|507 Insufficient|QuotaExceeded|StorageFull|EntityTooLarge", re.IGNORECASE
)
CONFLICT = re.compile(
    r"commit conflict|concurrent|TooMuchWriteContention|Retryable commit|incompatible transaction", re.IGNORECASE
)
DENIED = re.compile(
    r"status: 40[13]|40[13] (?:Forbidden|Unauthorized)|AccessDenied|InvalidAccessKey|SignatureDoesNotMatch|Forbidden"
    r"|lacked the necessary privileges|Failed to get AWS credentials|permission denied|AuthenticationFailed"
    r"|AuthorizationFailure|no credentials|invalid.*token",
    re.IGNORECASE,
)
MISSING = re.compile(r"NoSuchBucket|ContainerNotFound|specified (?:bucket|container) does not exist", re.IGNORECASE)
UNREACHABLE = re.compile(
    r"kind: (?:Connect|Timeout|Request)|timed? ?out|connection (?:refused|reset|closed)|dns|error sending request"
    r"|status: 5\d\d|SlowDown|ServiceUnavailable|InternalError|broken pipe|RetryError|unexpected eof",
    re.IGNORECASE,
)
GONE = re.compile(r"\bnot ?found\b|NoSuchKey|no such file", re.IGNORECASE)


class Trouble(NamedTuple):
    """A kind of storage error: the pattern that recognises it and our message. `{env}` is replaced by the environment
    variables of the credentials."""

    words: re.Pattern[str]
    kind: type[LlmcError]
    message: str
    reason: str = ""
    hint: str = ""


TROUBLES = (
    Trouble(FULL, StoreFullError, "the shared storage is full", hint="Nothing is lost: free some space, run it again."),
    Trouble(CONFLICT, ConflictError, "another writer was faster", hint="Run it again."),
    Trouble(
        MISSING,
        StorageError,
        "the shared storage does not exist",
        "there is no such bucket or container",
        "Create it, or check the URL.",
    ),
    Trouble(
        DENIED,
        StorageError,
        "the shared storage denied access",
        "the credentials are missing, wrong or do not allow this",
        "Check {env}.",
    ),
    Trouble(
        UNREACHABLE,
        StorageError,
        "the shared storage does not respond",
        "it is unreachable, overloaded or too slow",
        "Try again; `llmc shared status` shows when it responds.",
    ),
    Trouble(
        GONE,
        StoreError,
        "a file of the shared index is missing",
        "it was replaced by `optimize`, or was deleted",
        "Try again; if the error persists, run `llmc shared verify`.",
    ),
)


def classified(error: BaseException, url: str, doing: str) -> LlmcError:
    text = str(error)
    scheme = url.partition("://")[0] if "://" in url else ""
    for one in TROUBLES:
        if one.words.search(text):
            hint = one.hint.format(env=ENVIRONMENT.get(scheme, ENVIRONMENT[""]))
            return one.kind(f"{one.message} while {doing}", reason=one.reason, hint=hint)
    return CorruptStoreError(
        f"the shared index cannot be read while {doing}",
        reason=type(error).__name__,
        hint="Run `llmc shared verify`; publishing a repository again repairs it.",
    )
