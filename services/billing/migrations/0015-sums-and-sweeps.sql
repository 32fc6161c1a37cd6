-- Costs by day have the charges and losses among them. No row exists before this version follows the steps.
ALTER TABLE cost_by_day
  ADD COLUMN charged bigint NOT NULL DEFAULT 0,
  ADD COLUMN lost numeric NOT NULL DEFAULT 0;
COMMENT ON COLUMN cost_by_day.lost IS 'The costs of failed attempts and late bills among the costs.';
-- A sweep deletes the oldest rows.
CREATE INDEX claim_age ON claim (claimed_at);
CREATE INDEX kept_answer_age ON kept_answer (kept_at);
COMMENT ON COLUMN claim.generation IS 'Number of the owner of this key. The latest owner has the largest number in the table.';
-- An account is a chain of steps, and new accounts have no row in the table of before.
ALTER TABLE text_retention DROP CONSTRAINT text_retention_account_id_fkey;
