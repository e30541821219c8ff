"""Holds the tables of a fleet, who may do what to them, and the check of their version."""

from __future__ import annotations

from dataclasses import dataclass

from factory.fleet.database import Cursor, Database
from shared.errors import FleetUnavailable
from shared.version import VERSION

SCHEMA_VERSION = 3
ENGINE_SCHEMA = "llmch_engine"

# Each statement can be run again: `fleet init` runs them all, on a new database and on an old one.
# The clock is the database's own everywhere, so the machines of a fleet may disagree about time.
TABLES = """
CREATE SCHEMA IF NOT EXISTS llmch;
CREATE TABLE IF NOT EXISTS llmch.fleet (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    schema_version integer NOT NULL,
    llmch_version text NOT NULL,
    made timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS llmch.workers (
    id text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    lease_seconds double precision NOT NULL,
    protocol integer NOT NULL,
    llmch_version text NOT NULL,
    started timestamptz NOT NULL DEFAULT now(),
    seen timestamptz NOT NULL DEFAULT now(),
    dead timestamptz,
    cause text NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS llmch.takeovers (
    job text NOT NULL,
    worker text NOT NULL,
    taken timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job, worker)
);
CREATE TABLE IF NOT EXISTS llmch.intents (
    plan text NOT NULL,
    key text NOT NULL,
    worker text NOT NULL,
    begun timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (plan, key)
);
CREATE TABLE IF NOT EXISTS llmch.replies (
    plan text NOT NULL,
    key text NOT NULL,
    record text NOT NULL,
    worker text NOT NULL,
    kept timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (plan, key)
);
CREATE TABLE IF NOT EXISTS llmch.candidates (
    run text NOT NULL,
    commit text NOT NULL,
    job text NOT NULL,
    known text,
    announced timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (commit, job)
);
CREATE INDEX IF NOT EXISTS candidates_of_run ON llmch.candidates (run);
CREATE TABLE IF NOT EXISTS llmch.spending (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    worker text NOT NULL,
    usage text NOT NULL,
    settled boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS spending_of_run ON llmch.spending (run);
CREATE TABLE IF NOT EXISTS llmch.pauses (
    server text NOT NULL,
    model text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (server, model)
);
CREATE TABLE IF NOT EXISTS llmch.events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    job text NOT NULL,
    worker text NOT NULL,
    number integer NOT NULL,
    event text NOT NULL,
    UNIQUE (job, worker, number)
);
CREATE OR REPLACE FUNCTION llmch.stay_dead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.dead IS NOT NULL AND NEW.dead IS DISTINCT FROM OLD.dead THEN
        RAISE EXCEPTION 'worker % was declared dead', OLD.id;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER stay_dead BEFORE UPDATE ON llmch.workers
    FOR EACH ROW EXECUTE FUNCTION llmch.stay_dead();
CREATE OR REPLACE FUNCTION llmch.stay_on_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.dead IS NULL OR OLD.dead > now() - interval '7 days' THEN
        RAISE EXCEPTION 'worker % stays on record for 7 days after its end', OLD.id;
    END IF;
    RETURN OLD;
END $$;
CREATE OR REPLACE TRIGGER stay_on_record BEFORE DELETE ON llmch.workers
    FOR EACH ROW EXECUTE FUNCTION llmch.stay_on_record();
"""


@dataclass(frozen=True, slots=True)
class Roles:
    """Name the roles of a fleet; they belong to its database, as other fleets have others."""

    database: str

    @property
    def member(self) -> str:
        """Return the role of workers and of those who submit plans: they share one trust."""
        return f"{self.database}_member"

    @property
    def reader(self) -> str:
        """Return the role that may see `llmch fleet status` and nothing else."""
        return f"{self.database}_reader"


# Nobody but the administrator makes, changes or empties tables. What is declared dead, and a reply
# on record, cannot be taken back by a member; the former is forgotten after a week.
GRANTS = """
REVOKE ALL ON DATABASE {database} FROM PUBLIC;
GRANT CONNECT ON DATABASE {database} TO {member}, {reader};
GRANT USAGE ON SCHEMA llmch, {engine} TO {member}, {reader};
GRANT SELECT ON llmch.fleet, llmch.workers, llmch.takeovers TO {member}, {reader};
GRANT INSERT, UPDATE, DELETE ON llmch.workers TO {member};
GRANT INSERT, DELETE ON llmch.takeovers TO {member};
GRANT SELECT, INSERT, UPDATE, DELETE ON llmch.intents, llmch.candidates, llmch.spending,
    llmch.pauses TO {member};
GRANT SELECT, INSERT ON llmch.replies TO {member};
GRANT SELECT, INSERT, DELETE ON llmch.events TO {member};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {engine} TO {member};
REVOKE INSERT, UPDATE, DELETE ON {engine}.dbos_migrations, {engine}.queues FROM {member};
GRANT SELECT ON {engine}.workflow_status TO {reader};
"""


def check_schema(database: Database) -> None:
    """Raise `FleetUnavailable` unless the database is a fleet's, and of this llmch's schema."""
    found = database.run(found_version)
    if found is None:
        raise FleetUnavailable(
            f"{database.url} is not a fleet's database",
            "have its administrator set it up by `llmch fleet init`, or correct `fleet.db`",
        )
    version, made_by = found
    if version < SCHEMA_VERSION:
        raise FleetUnavailable(
            f"{database.url} has the older schema {version} of llmch {made_by}; "
            f"llmch {VERSION} needs {SCHEMA_VERSION}",
            f"end all workers, and have its administrator run `llmch fleet init` of {VERSION}",
        )
    refuse_newer(database, version, made_by)


def refuse_newer(database: Database, version: int, made_by: str) -> None:
    """Raise `FleetUnavailable` where a newer llmch has set up the database."""
    if version > SCHEMA_VERSION:
        raise FleetUnavailable(
            f"{database.url} has the newer schema {version} of llmch {made_by}; "
            f"this is llmch {VERSION}, which knows {SCHEMA_VERSION}",
            f"install llmch {made_by} or newer here",
        )


def found_version(cursor: Cursor) -> tuple[int, str] | None:
    """Return the schema's version and the llmch that made it; `None` if this is not a fleet."""
    there = cursor.execute("SELECT to_regclass('llmch.fleet') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return None
    row = cursor.execute("SELECT schema_version, llmch_version FROM llmch.fleet").fetchone()
    return (int(row[0]), str(row[1])) if row else None
