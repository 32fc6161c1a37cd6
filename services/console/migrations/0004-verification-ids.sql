-- contract: 0001-people.sql
-- better-auth keeps some values under names that are no UUIDs; no version relies on their being some.
ALTER TABLE verification ALTER COLUMN id TYPE text;
