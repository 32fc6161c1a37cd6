-- Entries come nearly in the order of time: the index is small, costs an insert next to nothing, and excludes all but the asked days.
CREATE INDEX entry_at ON entry USING brin (at);
