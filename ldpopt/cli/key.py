"""The command key: a new secret key."""

from typing import Annotated

from ldpopt.cli import options
from ldpopt.cli.options import argument
from ldpopt.cli.printing import show


def key(path: Annotated[str, argument("FILE", "A new file.")], json: options.Json = None) -> None:
    """Write a new secret key for privatize --key.

    The file has 32 random bytes from the operating system, and only its owner may read it. Somebody
    who has the key can find out the answers; without it the draws cannot be repeated. The name of
    the key, which is printed, is not secret.
    """
    from ldpopt.mechanism.keyed import SecretKey

    secret = SecretKey.new()
    secret.save(path)
    show(f"{path}: key {secret.name}", {"path": path, "name": secret.name}, json)
