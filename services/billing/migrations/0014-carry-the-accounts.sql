-- contract: 0014-carry-the-accounts.sql
-- Moves the ledger into the chain of steps (decision 77): the totals of each account and key, the open holds and the claims of a day. It is
-- one transaction that first stops all writes of the tables before it. Their history stays in them and is read there; no version writes them.
-- A version without this migration reads on and writes nothing: its writes fail with SQLSTATE 40001, and it is not ready.

-- A write of the version before can lock these tables in another order. So a lock that is not free after half a second releases all of them
-- before PostgreSQL looks for deadlocks, and the next attempt follows.
DO $$
BEGIN
  FOR attempt IN 1 .. 100 LOOP
    BEGIN
      SET LOCAL lock_timeout = '500ms';
      LOCK TABLE account, spender, deposit, adjustment, hold, entry, usage_daily, idempotency IN EXCLUSIVE MODE;
      SET LOCAL lock_timeout = '10s';
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      PERFORM pg_sleep(random() / 5);
    END;
  END LOOP;
  RAISE EXCEPTION 'The accounts were not carried: their tables are locked. End long transactions on them and migrate again.'
    USING ERRCODE = 'lock_not_available';
END $$;

ALTER TABLE account_state ADD COLUMN carried_at bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN account_state.carried_at IS 'Time of the step that carried the totals from before the chain; 0 = the account began in the chain.';

-- Three rows are new. A carry (kind 16) charges without a hold. A place with a detail was admitted before the chain. A late cost without a
-- place is of a hold that ended before the chain.
ALTER TABLE step
  DROP CONSTRAINT step_is_sound,
  ADD CONSTRAINT step_is_sound CHECK (
    bucket = get_byte(uuid_send(account_id), 15)
    AND least(charge, cost, debited - charge, held, used1, held1, used2, held2, used3, held3, used4, held4) >= 0
    AND (charge = 0 OR (kind = 5 AND charge <= -credits) OR kind = 16)
    AND (kind > 3 OR credits <= 0 OR credited - debited >= held OR (kind = 2 AND detail IS NOT NULL))
    AND coalesce(place_seq, 0) < seq AND ((place_seq IS NULL) = (kind <= 2 OR kind >= 11) OR (kind = 8 AND place_seq IS NULL)));

-- The carry relies on these sums. The history behind them is not read, so the stop does not grow with it.
DO $$
DECLARE
  broken text;
BEGIN
  SELECT min(wrong.account_id::text) INTO broken FROM (
    SELECT a.id AS account_id FROM account a
      LEFT JOIN (SELECT account_id, sum(used) AS used FROM spender GROUP BY 1) s ON s.account_id = a.id
      LEFT JOIN (SELECT account_id, sum(credits) AS held FROM hold WHERE state = 'open' GROUP BY 1) h ON h.account_id = a.id
     WHERE a.debits <> coalesce(s.used, 0) OR a.held <> coalesce(h.held, 0)
    UNION ALL
    SELECT s.account_id FROM spender s
      LEFT JOIN hold h ON h.state = 'open' AND h.spender_id = s.id AND h.window_no = s.window_no
     GROUP BY s.id HAVING s.window_held <> coalesce(sum(h.credits), 0) OR s.window_used NOT BETWEEN 0 AND s.used
    UNION ALL
    SELECT h.account_id FROM hold h LEFT JOIN spender s ON s.id = h.spender_id AND s.account_id = h.account_id
     WHERE h.state = 'open' AND s.id IS NULL
    UNION ALL
    SELECT t.account_id FROM step t
  ) wrong;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'The accounts were not carried, because the totals of account % do not add up: "ledger verify" of the version before names the differences.', broken;
  END IF;
END $$;

-- Budget n of an account is its n-th key by age. Window 2 is the latest window of the key, window 1 has all that was before.
WITH moment AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at, pg_current_xact_id()::text::bigint AS tx
), budget AS MATERIALIZED (
  SELECT s.*, row_number() OVER (PARTITION BY s.account_id ORDER BY s.created_at, s.id)::integer AS number FROM spender s
), open_one AS MATERIALIZED (
  SELECT h.*, b.number, w.is_latest, CASE WHEN w.is_latest THEN b.window_used ELSE b.used - b.window_used END AS window_used,
    c.key AS claim, CASE WHEN c.content_type IS NOT NULL THEN jsonb_build_object(
      'charge', jsonb_build_object('$int', c.credits::text), 'cost', jsonb_build_object('$int', c.cost::text)) END AS kept
   FROM hold h
   JOIN budget b ON b.id = h.spender_id
  CROSS JOIN LATERAL (SELECT h.window_no = b.window_no AS is_latest) w
   LEFT JOIN idempotency c ON c.hold_id = h.id
  WHERE h.state = 'open'
), item (account_id, phase, number, part, placed_at, id, kind, credits, charge, change_held, win, used, deadline_at, attempt, tag, claim, detail) AS (
  SELECT id, 0, 0, 0, NULL::timestamptz, id, 1, 0::bigint, 0::bigint, 0::bigint, NULL::integer, NULL::bigint, NULL::timestamptz, 0,
         NULL::text[], NULL::bytea, NULL::jsonb
    FROM account
  UNION ALL
  SELECT a.id, 1, 0, 0, NULL, a.id, 16, a.credits, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, jsonb_build_object('carriedAccount', jsonb_build_object(
           'adjusted', jsonb_build_object('$int', (SELECT coalesce(sum(j.credits), 0)::text FROM adjustment j WHERE j.account_id = a.id)),
           'suspended', a.suspended,
           'freeDay', coalesce(extract(epoch FROM a.free_day::timestamp AT TIME ZONE 'UTC') * 1000, 0)::bigint,
           'freeUsed', a.free_used))
    FROM account a
  UNION ALL
  SELECT b.account_id, 2, b.number, 0, NULL, b.id, 14, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, jsonb_build_object('definition', jsonb_build_object(
           'id', b.id, 'parentId', NULL, 'level', 'key', 'name', b.name,
           'limit', CASE WHEN b.cap IS NOT NULL THEN jsonb_build_object('$int', b.cap::text) END,
           'period', b.period,
           'expiresAt', floor(extract(epoch FROM b.expires_at) * 1000)::bigint,
           'active', b.active,
           'createdAt', floor(extract(epoch FROM b.created_at) * 1000)::bigint,
           'revision', jsonb_build_object('$int', b.revision::text)))
    FROM budget b
  UNION ALL
  SELECT b.account_id, 2, b.number, 1, NULL, b.account_id, 16, 0, b.used - b.window_used, 0, 1, b.used - b.window_used, NULL, 0, NULL, NULL,
         jsonb_build_object('carriedWindow', jsonb_build_object('windowStart', NULL, 'requests', 0))
    FROM budget b WHERE b.used > b.window_used
  UNION ALL
  SELECT b.account_id, 2, b.number, 2, NULL, b.account_id, 16, 0, b.window_used, 0, 2, b.window_used, NULL, 0, NULL, NULL,
         jsonb_build_object('carriedWindow', jsonb_build_object(
           'windowStart', floor(extract(epoch FROM b.window_start) * 1000)::bigint, 'requests', b.requests))
    FROM budget b WHERE b.window_no > 0 OR b.used > 0 OR b.requests > 0
  UNION ALL
  SELECT o.account_id, 3, o.number, 0, o.placed_at, o.id, 2, o.credits, 0, o.credits, CASE WHEN o.is_latest THEN 2 ELSE 1 END, o.window_used,
         o.deadline_at, o.attempt, ARRAY[o.service, o.provider, o.upstream_model, o.model, o.price_version], o.claim,
         jsonb_build_object('carriedHold', jsonb_build_object(
           'placedAt', floor(extract(epoch FROM o.placed_at) * 1000)::bigint,
           'booked', coalesce((
             SELECT jsonb_agg(jsonb_build_array(e.attempt, jsonb_build_object('$int', e.cost::text)) ORDER BY e.attempt)
               FROM (SELECT attempt, sum(cost)::bigint AS cost FROM entry WHERE hold_id = o.id GROUP BY attempt) e), '[]'),
           'kept', o.kept))
    FROM open_one o
  UNION ALL
  SELECT o.account_id, 4, o.number, 0, o.placed_at, o.id, 9, 0, 0, 0, NULL, NULL, o.lease_until, o.attempt, NULL, NULL, NULL
    FROM open_one o WHERE o.lease_until IS NOT NULL
), numbered AS (
  SELECT i.*, row_number() OVER own AS seq, sum(i.charge) OVER own AS debited, sum(i.change_held) OVER own AS held,
    sum(i.change_held) OVER (PARTITION BY i.account_id, i.number, i.win ORDER BY i.phase, i.placed_at, i.id ROWS UNBOUNDED PRECEDING) AS window_held
    FROM item i
  WINDOW own AS (PARTITION BY i.account_id ORDER BY i.phase, CASE i.phase WHEN 2 THEN i.number END, i.part, i.placed_at, i.id ROWS UNBOUNDED PRECEDING)
)
INSERT INTO step (tx, account_id, id, seq, at, credits, charge, cost, place_seq, deadline_at, credited, debited, held, used1, held1, bucket, budget1,
                  window1, attempt, kind, service, provider, upstream_model, model, price_version, claim, detail)
SELECT m.tx, n.account_id, n.id, n.seq, m.at, n.credits, n.charge, 0,
       CASE n.phase WHEN 4 THEN max(n.seq) FILTER (WHERE n.phase = 3) OVER (PARTITION BY n.account_id, n.id) END,
       floor(extract(epoch FROM n.deadline_at) * 1000)::bigint,
       CASE n.phase WHEN 0 THEN 0 ELSE a.credits END, n.debited, n.held,
       n.used, CASE WHEN n.win IS NOT NULL THEN n.window_held END, get_byte(uuid_send(n.account_id), 15),
       CASE WHEN n.win IS NOT NULL THEN n.number END, n.win,
       n.attempt, n.kind, n.tag[1], n.tag[2], n.tag[3], n.tag[4], n.tag[5], n.claim, n.detail::text
  FROM numbered n JOIN account a ON a.id = n.account_id CROSS JOIN moment m
 ORDER BY get_byte(uuid_send(n.account_id), 15), n.account_id, n.seq;

-- A claim owns its key for a day, and while its hold is open. Kept answers stay beside their claims of before.
INSERT INTO claim (account_id, hold_id, claimed_at, bucket, generation, key, fingerprint)
SELECT c.account_id, c.hold_id, floor(extract(epoch FROM c.claimed_at) * 1000)::bigint, get_byte(uuid_send(c.account_id), 15), 1, c.key, c.fingerprint
  FROM idempotency c
 WHERE c.hold_id IN (
   SELECT hold_id FROM idempotency WHERE claimed_at > clock_timestamp() - interval '24 hours'
   UNION SELECT id FROM hold WHERE state = 'open');

-- The followers begin behind these steps: their tables have the rows of the carry already. No transaction before this one has steps.
INSERT INTO budget_number (account_id, budget_id, bucket, budget)
SELECT account_id, id, get_byte(uuid_send(account_id), 15), row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) FROM spender;

INSERT INTO open_hold (account_id, hold_id, place_seq, placed_at, deadline_at, leased_until, bucket, service)
SELECT p.account_id, p.id, p.seq, (p.detail::jsonb -> 'carriedHold' ->> 'placedAt')::bigint, p.deadline_at, coalesce(l.deadline_at, 0), p.bucket, p.service
  FROM step p LEFT JOIN step l ON l.kind = 9 AND l.bucket = p.bucket AND l.account_id = p.account_id AND l.place_seq = p.seq
 WHERE p.kind = 2;

UPDATE step_cursor SET seen = (SELECT format('%1$s:%1$s:', pg_current_xact_id()::text::bigint + 1))::pg_snapshot;

ANALYZE step, claim, budget_number, open_hold;

CREATE FUNCTION refuse_earlier_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'A newer version of billing has carried the accounts into the chain of steps; this version writes no more'
    USING ERRCODE = 'serialization_failure';
END $$;

-- Statements, not rows: a batch that changes nothing answers from totals that are no longer true. Old claims are deleted by every version.
CREATE TRIGGER account_is_carried BEFORE INSERT OR UPDATE OR DELETE ON account FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER spender_is_carried BEFORE INSERT OR UPDATE OR DELETE ON spender FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER deposit_is_carried BEFORE INSERT OR UPDATE OR DELETE ON deposit FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER adjustment_is_carried BEFORE INSERT OR UPDATE OR DELETE ON adjustment FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER hold_is_carried BEFORE INSERT OR UPDATE OR DELETE ON hold FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER entry_is_carried BEFORE INSERT ON entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER usage_is_carried BEFORE INSERT OR UPDATE OR DELETE ON usage_daily FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
CREATE TRIGGER claim_is_carried BEFORE INSERT OR UPDATE ON idempotency FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
