"""The form of the verdict store, by version, and how an older file becomes a newer one.

Version 1 had one line for each verdict. Version 2 has events, so that many verdicts can be one step, a step can be
undone, a save that is tried again is stored once, and remarks have a place.
"""

from __future__ import annotations

import sqlite3

_FIRST = """
CREATE TABLE verdicts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  position INTEGER NOT NULL,
  row TEXT NOT NULL,
  action TEXT NOT NULL,
  label TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  time TEXT NOT NULL
);
"""

_EVENTS = """
ALTER TABLE verdicts RENAME TO old;
CREATE TABLE events (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  time TEXT NOT NULL,
  target INTEGER REFERENCES events (number),
  about TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE verdicts (
  event INTEGER NOT NULL REFERENCES events (number),
  position INTEGER NOT NULL,
  row TEXT NOT NULL,
  action TEXT NOT NULL,
  label TEXT NOT NULL,
  comment TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  time TEXT NOT NULL,
  PRIMARY KEY (event, position)
) WITHOUT ROWID;
INSERT INTO events (number, key, kind, reviewer, time) SELECT id, 'v1-' || id, 'verdicts', reviewer, time FROM old;
INSERT INTO verdicts SELECT id, position, row, action, label, '', reviewer, time FROM old;
DROP TABLE old;
"""

_APPEND_ONLY = "\n".join(
    f"CREATE TRIGGER {table}_{verb}_refused BEFORE {verb} ON {table} {when}\n"
    f"BEGIN SELECT RAISE(ABORT, 'the verdict store is append-only'); END;"
    for table, same in (
        ("events", "number = NEW.number OR key = NEW.key"),
        ("verdicts", "event = NEW.event AND position = NEW.position"),
    )
    for verb, when in (
        ("UPDATE", ""),
        ("DELETE", ""),
        ("INSERT", f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"),  # INSERT OR REPLACE would delete
    )
)

MIGRATIONS = (_FIRST, _EVENTS + _APPEND_ONLY)
"""What makes version 1 of an empty file, version 2 of version 1, and so on."""
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """Version of the form of this file; 0 if it is empty."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to :data:`VERSION`, within the transaction that is open."""
    for number, script in enumerate(MIGRATIONS[version_of(connection) :], start=version_of(connection) + 1):
        for statement in _statements(script):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")


def _statements(script: str) -> list[str]:
    """The statements of a script; ``executescript`` would end the transaction."""
    statements, begun = [], ""
    for line in script.splitlines():
        begun += line + "\n"
        if sqlite3.complete_statement(begun):
            statements.append(begun)
            begun = ""
    return statements
