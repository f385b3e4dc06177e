"""The extension module, or a sentence that says what it needs."""

from __future__ import annotations

try:
    import _roar_ckpt as core
except ImportError as error:
    raise ImportError(
        f"roar.checkpoint cannot be loaded ({error}): install BLAKE3, libcrypto and "
        "jansson (Debian: librust-blake3-dev libssl-dev libjansson-dev) and install roar "
        "again") from error

__all__ = ["core"]
