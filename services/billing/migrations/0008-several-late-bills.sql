-- contract: 0001-ledger.sql
-- A provider may bill one attempt late more than once: what exceeds the booked cost is one more entry each time. All else is booked once,
-- as the constraint that goes has demanded from the beginning.
CREATE UNIQUE INDEX entry_of_hold ON entry (hold_id, attempt, kind, (CASE WHEN kind = 'late' THEN id ELSE 0 END))
  WHERE hold_id IS NOT NULL;
ALTER TABLE entry DROP CONSTRAINT entry_hold_id_kind_attempt_key;
