# SPDX-License-Identifier: MIT
"""User events for Python, through libusertrace and ctypes. One file to copy.

To run the example at the end of this file and trace it:

    $ usertrace trace 'e:*' -- python3 usertrace.py

USERTRACE_LIBRARY=/path/to/libusertrace.so.0 selects a library that is not installed.
"""
import ctypes
import os
from contextlib import contextmanager
from itertools import count as counter

_library = ctypes.CDLL(os.environ.get("USERTRACE_LIBRARY", "libusertrace.so.0"))
enabled = _library.ut_enabled
_emit = _library.ut_emit
_emit.restype = None
_emit.argtypes = ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_char_p

BEGIN, END, MARK, COUNT, ID, TEXT = 1, 2, 3, 4, 0x10, 0x20


def _bytes(text):
    return text.encode("utf-8", "replace")


def emit(what, name, value=0, id=None, text=None):
    """Emits one event. When nobody is tracing, the call returns at once; use `if enabled():` to skip the computation of
    expensive strings."""
    what |= (ID if id is not None else 0) | (TEXT if text is not None else 0)
    _emit(what, _bytes(name), value, id or 0, None if text is None else _bytes(text))


def mark(name, text=None, id=None):
    """Emits an instant event."""
    emit(MARK, name, 0, id, text)


def count(name, value, id=None):
    """Sets a counter."""
    emit(COUNT, name, value, id)


@contextmanager
def span(name, id=None, text=None):
    """A span, as in `with span("parse"): ...`, or as the decorator @span("parse").

    Spans of one thread nest. A span that overlaps others or ends on another thread needs an id, such as next_id()."""
    emit(BEGIN, name, 0, id, text)
    try:
        yield
    finally:
        emit(END, name, 0, id)


next_id = counter(1).__next__


def story():
    with span("request"):
        with span("parse"):
            pass
        mark("cache miss", text="/index.html")
        count("température", -4)
        with span("download", id=7):
            pass
        mark("готово ✓")


if __name__ == "__main__":
    story()
