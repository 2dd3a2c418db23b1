"""Whether a folder may hold compiled code.

Such code is loaded and run, so a folder in which others can write would let them run theirs.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache


@lru_cache(maxsize=64)
def is_private(path: str, owner: int | None = None) -> bool:
    """Whether only this user, the superuser and ``owner`` can put files into an existing folder.

    ``owner`` is the number of the user who owns the source files: code of theirs is run anyway.
    Whoever can write to a folder above it could exchange it, unless the sticky bit forbids that,
    as in ``/tmp``.
    """
    if not hasattr(os, "getuid"):  # Windows: access lists, not permission bits
        return True
    folder = os.path.realpath(path)
    status = os.stat(folder)
    if status.st_uid not in (os.getuid(), 0, owner) or _others_write(status):
        return False
    while folder != (folder := os.path.dirname(folder)):
        status = os.stat(folder)
        if _others_write(status) and not status.st_mode & stat.S_ISVTX:
            return False
    return True


def _others_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def _is_own_group(number: int) -> bool:
    """Whether a group is that of this user alone: many systems make one per user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}
