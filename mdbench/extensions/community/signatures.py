"""Signatures by SSH keys: who states something, and a salt that nobody can choose."""

from __future__ import annotations

import base64
import binascii
import hashlib
import subprocess
import tempfile
from typing import TYPE_CHECKING, Final

from mdbench.errors import RecordsError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE: Final = "mdbench-registry"
"""What a signature is for, so that one made for another purpose is none (``ssh-keygen -n``)."""
_DETERMINISTIC: Final = b"ssh-ed25519"
"""The kind of key by which ``ssh-keygen`` makes one signature of a text."""
_SSHSIG: Final = b"SSHSIG\0\0\0\1"
_HASH: Final = b"sha512"
"""By which the text is hashed, unless ``ssh-keygen`` is asked for another one."""
_LENGTH: Final = 83
"""Bytes of a signature with the name of its kind."""
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
"""The order of the curve's base point (RFC 8032, 5.1): to add it to a signature's second half gives
another signature that some verify."""


def sign(path: Path, key: Path) -> Path:
    """Sign a file with an SSH key and return the signature's file.

    Raises
    ------
    UnavailableError
        If there is no ``ssh-keygen``, or if it refuses the key.
    """
    signature = path.with_name(f"{path.name}.sig")
    signature.write_text(signature_of(path.read_bytes(), key), encoding="utf-8")
    return signature


def signature_of(content: bytes, key: Path) -> str:
    """Return the signature of a text by an SSH key.

    Raises
    ------
    UnavailableError
        If there is no ``ssh-keygen``, or if it refuses the key.
    """
    done = _ssh_keygen("-Y", "sign", "-f", str(key), "-n", NAMESPACE, content=content)
    if done.returncode or not done.stdout.startswith("-----BEGIN SSH SIGNATURE"):
        why = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise UnavailableError(
            f"Nothing was signed by {key}: {why[0]}",
            "Name a private key as ssh-keygen makes it: --sign ~/.ssh/id_ed25519",
        )
    return done.stdout


def signer_of(content: bytes, signature: str, signers: Path) -> str:
    """Return who has signed a text.

    Parameters
    ----------
    content
        What was signed.
    signature
        The signature, as ``ssh-keygen`` writes it.
    signers
        A file of public keys by name, as ``ssh-keygen`` reads it (``allowed_signers``).

    Raises
    ------
    RecordsError
        If none of the keys in `signers` made the signature.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".sig", encoding="utf-8") as file:
        file.write(signature)
        file.flush()
        arguments = ("-s", file.name, "-f", str(signers))
        names = _ssh_keygen("-Y", "find-principals", *arguments).stdout.split("\n")
        for name in filter(None, map(str.strip, names)):
            verify = ("-Y", "verify", *arguments, "-n", NAMESPACE, "-I", name)
            if _ssh_keygen(*verify, content=content).returncode == 0:
                return name
    raise RecordsError(f"its signature is of nobody in {signers.name}")


def signer_of_file(path: Path, signers: Path) -> str:
    """Return who has signed a file, by the signature next to it.

    Raises
    ------
    RecordsError
        If nobody is named in `signers`, or nobody of these has signed it.
    """
    if not signers.is_file():
        raise RecordsError(f"there is no {signers.name}, which names those whose word counts")
    signature = path.with_name(f"{path.name}.sig")
    if not signature.is_file():
        raise RecordsError(f"it is not signed, and {signers.name} names those whose word counts")
    return signer_of(path.read_bytes(), signature.read_text(errors="replace"), signers)


def salt_of(signature: str) -> str:
    """Return the salt that follows from a signature by an Ed25519 key: SHA-256 of its last bytes.

    Nobody without the key can know it before, and ``ssh-keygen`` makes one signature of a text.

    Raises
    ------
    RecordsError
        If it is no signature, one of another kind of key, or not as ``ssh-keygen`` makes it.
    """
    hint = "Make a key of this kind: ssh-keygen -t ed25519"
    lines = [line for line in signature.splitlines() if not line.startswith("-----")]
    try:
        content = base64.b64decode("".join(lines), validate=True)
        public_key, _, reserved, hashed_by, made = _fields(content.removeprefix(_SSHSIG))
    except (binascii.Error, ValueError):
        raise RecordsError("A signature is damaged.", hint) from None
    if not public_key[4:].startswith(_DETERMINISTIC):
        raise RecordsError("Audits are signed by Ed25519 keys, and this key is another.", hint)
    usual = hashed_by == _HASH and not reserved and len(made) == _LENGTH
    if not (usual and int.from_bytes(made[-32:], "little") < _ORDER):
        raise RecordsError("A signature is not as ssh-keygen makes it.", hint)
    return hashlib.sha256(made[-64:]).hexdigest()


def _fields(content: bytes) -> list[bytes]:
    """Part what follows the version of a signature, or what follows no version; nothing is left."""
    fields, at = [], 0
    while at < len(content):
        end = at + 4 + int.from_bytes(content[at : at + 4], "big")
        if end > len(content):
            raise ValueError("cut short")
        fields.append(content[at + 4 : end])
        at = end
    return fields


def _ssh_keygen(*arguments: str, content: bytes = b"") -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            ["ssh-keygen", *arguments], input=content, capture_output=True, check=False
        )
    except OSError as error:
        raise UnavailableError(
            "Signatures need ssh-keygen, which was not found.",
            "Install OpenSSH's client (on Debian and Ubuntu: apt install openssh-client).",
        ) from error
    return subprocess.CompletedProcess(
        done.args,
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )
