"""What every test and every process would read again, read once: it is the same for all."""

import functools

import httpcore2

from long_running_agents.memory.embedding import bundled


def keep():
    """Read the vectors of the embedder in the box and the certificates of this machine once."""
    bundled._load = functools.cache(bundled._load)
    trusting = httpcore2.default_ssl_context
    trusting_machine = functools.cache(lambda: trusting(_trust_env=False))

    def trust(*, _trust_env=True):
        return trusting() if _trust_env else trusting_machine()

    httpcore2.default_ssl_context = trust


def keep_fields():
    """Read the types of routes once: each application has the same, and two hundred of them."""
    try:
        from fastapi._compat.v2 import ModelField, asdict  # noqa: PLC0415 - few tests need it
    except ImportError:
        # It is theirs to move; then each application reads its own.
        return
    if ModelField.__post_init__.__module__ == __name__:
        return
    read, known = ModelField.__post_init__, {}

    def reread(field):
        # Whose own representation leaves out what its subclasses add.
        about = asdict(field.field_info)
        key = about["annotation"], repr(about), repr(field.config)
        if key not in known:
            read(field)
            known[key] = field._type_adapter
        field._type_adapter = known[key]

    ModelField.__post_init__ = reread
