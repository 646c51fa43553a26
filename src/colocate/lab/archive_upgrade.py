"""Upgrades the archives of older versions."""

import sqlite3
from collections.abc import Callable

VERSION = 4
"""The version that is written now: 2 added codes of refusals, 3 says which costs are estimates.

In version 4, verdicts hold the figures under every seed. Older ones are judged again when a run
goes on, since they are by other rules (`contest.RULES`); until then, they are shown as they are.
"""
OLDER = {
    1: (
        "ALTER TABLE attempts ADD COLUMN advice TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN code TEXT NOT NULL DEFAULT ''",
    ),
    2: ("ALTER TABLE attempts ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0",),
    3: (),
}
"""The versions that can be read, and what makes each of them the next one."""


def upgrade(connection: sqlite3.Connection, version: int, rewrite: Callable[[], None]) -> None:
    """Upgrade an archive to the present version, completely or not at all.

    Parameters
    ----------
    connection
        The connection to the archive, open for writing.
    version
        The version that it has.
    rewrite
        Writes all attempts again, now with the new columns.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for older, statements in OLDER.items():
            for statement in statements if older >= version else ():
                connection.execute(statement)
        connection.execute("UPDATE settings SET value = ? WHERE name = 'version'", (str(VERSION),))
        rewrite()
