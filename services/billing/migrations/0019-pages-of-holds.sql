-- Pages of holds are reads of an index: open holds by age, and ended holds of before the chain by account and age.
CREATE INDEX open_hold_in_order ON open_hold (placed_at, hold_id);
CREATE INDEX hold_of_account ON hold (account_id, placed_at, id) WHERE state <> 'open';
