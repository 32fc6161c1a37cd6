-- Writer of the last version before the chain of steps, without its comments.
CREATE FUNCTION post(
  op_kind operation_kind[], op_hold uuid[], op_account uuid[], op_spender uuid[], op_credits bigint[],
  op_most bigint[], op_cost bigint[],
  op_deadline bigint[], op_tag integer[], op_attempt integer[], op_billed_by integer[],
  tag_service text[], tag_provider text[], tag_upstream_model text[], tag_model text[], tag_price_version text[],
  claim_key bytea[], claim_fingerprint bytea[], asked_at timestamptz, free_limit integer,
  OUT outcomes outcome[], OUT remarks jsonb[]
) LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
  today date;
  account_ids uuid[] := op_account;
  accounts account[];
  spender_ids uuid[] := op_spender;
  spenders spender[];
  hold_ids uuid[];
  holds hold[];
  taken integer[];
  placed integer[];
  placed_window integer[];
  claimed integer[];
  changed hold[];
  booked entry[];
  kind operation_kind;
  code outcome;
  verdict outcome;
  payer uuid;
  a integer;
  s integer;
  n integer;
  acc account;
  sp spender;
  h hold;
  owner hold;
  more bigint;
  start timestamptz;
  fresh boolean;
  used bigint;
  held bigint;
  in_flight boolean;
BEGIN
  IF array_remove(op_kind, 'place') <> '{}' THEN
    SELECT account_ids || array_agg(x.account_id), spender_ids || array_agg(x.spender_id)
      INTO account_ids, spender_ids FROM hold x WHERE x.id = ANY (op_hold);
  END IF;
  SELECT coalesce(array_agg(l.id), '{}'), array_agg(l) INTO account_ids, accounts
    FROM (SELECT * FROM account WHERE id = ANY (account_ids) ORDER BY id FOR NO KEY UPDATE) l;
  SELECT coalesce(array_agg(l.id), '{}'), array_agg(l) INTO spender_ids, spenders
    FROM (SELECT * FROM spender WHERE id = ANY (spender_ids) ORDER BY id FOR NO KEY UPDATE) l;
  moment := coalesce(asked_at, clock_timestamp());
  today := (moment AT TIME ZONE 'UTC')::date;
  SELECT coalesce(array_agg(x.id), '{}'), array_agg(x) INTO hold_ids, holds
    FROM (SELECT * FROM hold WHERE id = ANY (op_hold) ORDER BY id) x;
  IF claim_key IS NOT NULL THEN
    SELECT array_agg(o.i) INTO taken FROM unnest(op_account, claim_key) WITH ORDINALITY AS o (account, key, i)
      JOIN idempotency c ON c.account_id = o.account AND c.key = o.key;
  END IF;
  FOR i IN 1 .. cardinality(op_kind) LOOP
    kind := op_kind[i];
    n := width_bucket(op_hold[i], hold_ids);
    h := CASE WHEN hold_ids[n] = op_hold[i] THEN holds[n] END;
    IF kind = 'capture' AND h.credits < op_credits[i] THEN
      op_credits[i] := h.credits;
    END IF;
    IF kind IN ('release', 'abandon') AND tag_provider[op_tag[i]] <> h.provider THEN
      op_cost[i] := 0;
    END IF;
    code := CASE
      WHEN kind = 'place' THEN
        CASE WHEN h.id IS NULL THEN NULL
             WHEN h.state = 'open' AND h.account_id = op_account[i] AND h.spender_id = op_spender[i] THEN 'done'::outcome
             ELSE 'already_resolved' END
      WHEN h.id IS NULL THEN 'unknown_hold'
      WHEN kind = 'next' AND (h.state <> 'open' OR h.attempt <> op_attempt[i] - 1 OR h.lease_until IS NOT NULL) THEN
        CASE WHEN h.state = 'open' AND h.attempt = op_attempt[i] THEN 'done'::outcome ELSE 'already_resolved' END
      WHEN h.state = 'open' THEN NULL
      WHEN h.state = 'captured' AND kind = 'capture' AND h.charge = op_credits[i] AND h.cost = op_cost[i] THEN 'done'
      WHEN h.state = 'released' AND kind IN ('release', 'abandon') THEN 'done'
      ELSE 'already_resolved' END;
    IF code IS NOT NULL THEN
      outcomes := outcomes || code;
      IF code = 'done' AND kind = 'place' AND op_most[i] IS NOT NULL THEN
        remarks := remarks || jsonb_build_object('i', i - 1, 'held', h.credits::text);
      END IF;
      n := CASE kind WHEN 'next' THEN op_attempt[i] - 1 ELSE h.attempt END;
      IF n = h.attempt AND op_cost[i] > h.cost OR n < h.attempt AND op_cost[i] > 0 AND op_billed_by[i] IS NOT NULL THEN
        SELECT op_cost[i] - coalesce(sum(e.cost), 0) INTO more FROM entry e WHERE e.hold_id = h.id AND e.attempt = n;
        IF more > 0 THEN
          booked := booked || ROW(NULL, moment, h.account_id, h.id, NULL, 0, more, 'late',
                                  CASE WHEN n < h.attempt THEN tag_provider[op_billed_by[i]] ELSE h.provider END,
                                  n, NULL)::entry;
          remarks := remarks || jsonb_build_object('i', i - 1, 'late', more::text);
        END IF;
      END IF;
      CONTINUE;
    END IF;

    payer := coalesce(h.account_id, op_account[i]);
    a := width_bucket(payer, account_ids);
    s := width_bucket(coalesce(h.spender_id, op_spender[i]), spender_ids);
    acc := accounts[a];
    sp := spenders[s];
    IF h.id IS NOT NULL AND (acc.id IS DISTINCT FROM h.account_id OR sp.id IS DISTINCT FROM h.spender_id) THEN
      RAISE EXCEPTION 'hold % appeared after the locks were taken', h.id USING ERRCODE = 'serialization_failure';
    END IF;
    IF op_cost[i] IS NOT NULL THEN
      outcomes := outcomes || 'done'::outcome;
      IF kind = 'capture' OR op_cost[i] > 0 THEN
        booked := booked || ROW(
          NULL, moment, h.account_id, h.id, NULL, op_credits[i], op_cost[i],
          CASE kind WHEN 'capture' THEN 'charge'::entry_kind WHEN 'abandon' THEN 'late' ELSE 'failed' END,
          h.provider, h.attempt, NULL)::entry;
      END IF;
      IF kind = 'abandon' THEN
        remarks := remarks || jsonb_build_object(
          'i', i - 1, 'abandoned', h.credits::text, 'late', CASE WHEN op_cost[i] > 0 THEN op_cost[i]::text END);
      ELSIF kind <> 'capture' AND op_cost[i] > 0 THEN
        remarks := remarks || jsonb_build_object('i', i - 1, 'failed', op_cost[i]::text);
      END IF;
      IF kind = 'next' THEN
        h.attempt := op_attempt[i];
        h.provider := tag_provider[op_tag[i]];
        h.upstream_model := tag_upstream_model[op_tag[i]];
        h.deadline_at := greatest(h.deadline_at, to_timestamp(op_deadline[i] / 1000::float8));
      ELSE
        acc.held := acc.held - h.credits;
        acc.debits := acc.debits + op_credits[i];
        accounts[a] := acc;
        IF h.window_no = sp.window_no THEN
          sp.window_held := sp.window_held - h.credits;
          sp.window_used := sp.window_used + op_credits[i];
        END IF;
        IF kind = 'capture' THEN
          h.state := 'captured';
          sp.used := sp.used + op_credits[i];
          sp.requests := sp.requests + 1;
        ELSE
          h.state := 'released';
        END IF;
        spenders[s] := sp;
        h.charge := op_credits[i];
        h.cost := op_cost[i];
      END IF;
      changed := changed || h;
      CONTINUE;
    END IF;
    more := greatest(op_credits[i] - coalesce(h.credits, 0), 0);
    in_flight := false;
    code := CASE
      WHEN kind = 'extend' AND more = 0 THEN 'done'::outcome
      WHEN sp.id = coalesce(h.spender_id, op_spender[i]) AND sp.account_id = payer AND sp.active AND NOT acc.suspended THEN
        CASE WHEN sp.expires_at <= moment THEN 'spender_expired'::outcome END
      ELSE 'spender_inactive' END;
    IF code IS NULL AND i = ANY (taken) THEN
      SELECT x.* INTO owner FROM idempotency c JOIN hold x ON x.id = c.hold_id
       WHERE c.account_id = payer AND c.key = claim_key[i] FOR NO KEY UPDATE OF x;
      SELECT claim_outcome(c, coalesce((SELECT x.state FROM unnest(changed) x WHERE x.id = owner.id), owner.state),
                           claim_fingerprint[i], moment)
        INTO code FROM idempotency c WHERE c.account_id = payer AND c.key = claim_key[i];
    END IF;
    IF code IS NULL OR code = 'claim_finished' AND owner.spender_id <> sp.id THEN
      start := start_of_window(sp.period, moment);
      fresh := h.id IS NULL AND coalesce(sp.window_start < start, start IS NOT NULL);
      used := CASE WHEN fresh THEN 0 ELSE sp.window_used END;
      held := CASE WHEN fresh THEN 0 ELSE sp.window_held END;
      verdict := CASE
        WHEN more = 0 THEN 'done'::outcome
        WHEN used + op_credits[i] > sp.cap THEN 'spend_limit_exceeded'
        WHEN h.window_no <> sp.window_no AND sp.cap IS NOT NULL THEN 'spend_limit_exceeded'
        WHEN op_credits[i] > acc.credits - acc.debits THEN 'insufficient_credits'
        WHEN used + held + more <= coalesce(sp.cap, used + held + more) AND more <= acc.credits - acc.debits - acc.held
          THEN 'done' END;
      IF verdict IS NULL THEN
        in_flight := true;
        verdict := CASE WHEN used + held + more > sp.cap THEN 'spend_limit_exceeded'::outcome ELSE 'insufficient_credits' END;
      END IF;
      IF code IS NULL OR verdict = 'spend_limit_exceeded' AND NOT in_flight THEN
        code := verdict;
      END IF;
    END IF;
    IF more = 0 AND free_limit IS NOT NULL AND code = 'done' AND kind = 'place' THEN
      IF acc.free_day IS NULL OR acc.free_day < today THEN
        acc.free_day := today;
        acc.free_used := 0;
      END IF;
      IF acc.free_used < free_limit THEN
        acc.free_used := acc.free_used + 1;
      ELSE
        code := 'free_limit_exceeded';
      END IF;
    END IF;
    outcomes := outcomes || code;

    IF code = 'done' THEN
      IF op_most[i] IS NOT NULL THEN
        IF more > 0 THEN
          more := greatest(more, least(
            op_most[i] - coalesce(h.credits, 0),
            least(acc.credits - acc.debits - acc.held, sp.cap - used - held) / 4));
        END IF;
        remarks := remarks || jsonb_build_object('i', i - 1, 'held', (coalesce(h.credits, 0) + more)::text);
      END IF;
      acc.held := acc.held + more;
      accounts[a] := acc;
      IF kind = 'place' THEN
        IF fresh THEN
          sp.window_no := sp.window_no + 1;
          sp.window_start := start;
          sp.window_used := 0;
        END IF;
        sp.window_held := held + more;
        op_credits[i] := more;
        placed := placed || i;
        placed_window := placed_window || sp.window_no;
        IF claim_key[i] IS NOT NULL THEN
          claimed := claimed || i;
        END IF;
      ELSE
        IF h.window_no = sp.window_no THEN
          sp.window_held := sp.window_held + more;
        END IF;
        h.credits := h.credits + more;
        h.deadline_at := greatest(h.deadline_at, to_timestamp(op_deadline[i] / 1000::float8));
        changed := changed || h;
      END IF;
      spenders[s] := sp;
    ELSIF code = 'claim_finished' THEN
      remarks := remarks || jsonb_build_object('i', i - 1, 'holder', owner.id);
    ELSIF code NOT IN ('claim_in_progress', 'claim_mismatch') THEN
      remarks := remarks || jsonb_build_object(
        'i', i - 1,
        'inFlight', in_flight,
        'available', CASE WHEN acc.id = payer THEN greatest(acc.credits - acc.debits - acc.held, 0)::text END,
        'cap', CASE code WHEN 'spend_limit_exceeded' THEN sp.cap::text END,
        'period', CASE code WHEN 'spend_limit_exceeded' THEN sp.period END,
        'resetsAt', CASE code
          WHEN 'spend_limit_exceeded' THEN unix_ms(end_of_window(sp.period, greatest(start, sp.window_start)))
          WHEN 'free_limit_exceeded' THEN unix_ms((acc.free_day + 1)::timestamp AT TIME ZONE 'UTC') END,
        'expiresAt', CASE code WHEN 'spender_expired' THEN unix_ms(sp.expires_at) END,
        'suspended', CASE code WHEN 'spender_inactive' THEN
          sp.id = coalesce(h.spender_id, op_spender[i]) AND sp.account_id = payer AND sp.active AND acc.suspended END);
    END IF;
  END LOOP;
  IF placed IS NOT NULL THEN
    INSERT INTO hold (id, account_id, spender_id, credits, placed_at, deadline_at, window_no, attempt, state,
                      service, provider, upstream_model, model, price_version)
      SELECT op_hold[o.n], op_account[o.n], op_spender[o.n], op_credits[o.n], moment,
             to_timestamp(op_deadline[o.n] / 1000::float8), o.window_no, 1, 'open', tag_service[op_tag[o.n]],
             tag_provider[op_tag[o.n]], tag_upstream_model[op_tag[o.n]], tag_model[op_tag[o.n]],
             tag_price_version[op_tag[o.n]]
        FROM unnest(placed, placed_window) AS o (n, window_no);
  END IF;
  IF claimed IS NOT NULL THEN
    INSERT INTO idempotency (account_id, key, fingerprint, hold_id, claimed_at)
      SELECT op_account[o.n], claim_key[o.n], claim_fingerprint[o.n], op_hold[o.n], moment FROM unnest(claimed) AS o (n)
      ON CONFLICT (account_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, hold_id = excluded.hold_id, claimed_at = excluded.claimed_at,
            content_type = NULL, body = NULL, credits = NULL, cost = NULL;
  END IF;
  IF changed IS NOT NULL THEN
    UPDATE hold x
       SET credits = o.credits, deadline_at = o.deadline_at, state = o.state, charge = o.charge, cost = o.cost,
           attempt = o.attempt, provider = o.provider, upstream_model = o.upstream_model
      FROM unnest(changed) o WHERE x.id = o.id;
  END IF;
  IF booked IS NOT NULL THEN
    INSERT INTO entry (at, account_id, hold_id, credits, cost, kind, provider, attempt)
      SELECT e.at, e.account_id, e.hold_id, e.credits, e.cost, e.kind, e.provider, e.attempt FROM unnest(booked) e;
    INSERT INTO usage_daily AS u (account_id, day, spender_id, model, provider, requests, charge, cost)
      SELECT o.account_id, today, o.spender_id, o.model, o.provider, count(*), sum(o.charge), sum(o.cost)
        FROM unnest(changed) o WHERE o.state = 'captured' GROUP BY o.account_id, o.spender_id, o.model, o.provider
      ON CONFLICT (account_id, day, spender_id, model, provider) DO UPDATE
        SET requests = u.requests + excluded.requests, charge = u.charge + excluded.charge, cost = u.cost + excluded.cost;
  END IF;
  UPDATE account l SET held = o.held, debits = o.debits, free_day = o.free_day, free_used = o.free_used
    FROM unnest(accounts) o
   WHERE l.id = o.id
     AND (l.held <> o.held OR l.debits <> o.debits OR l.free_used <> o.free_used OR l.free_day IS DISTINCT FROM o.free_day);
  UPDATE spender l
     SET window_no = o.window_no, window_start = o.window_start, window_used = o.window_used,
         window_held = o.window_held, used = o.used, requests = o.requests
    FROM unnest(spenders) o
   WHERE l.id = o.id
     AND (l.window_no <> o.window_no OR l.window_held <> o.window_held OR l.requests <> o.requests);
END $$;
CREATE FUNCTION lock_for_posts(op_hold uuid[], op_account uuid[], op_spender uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  account_ids uuid[] := op_account;
  spender_ids uuid[] := op_spender;
BEGIN
  SELECT account_ids || array_agg(x.account_id), spender_ids || array_agg(x.spender_id)
    INTO account_ids, spender_ids FROM hold x WHERE x.id = ANY (op_hold);
  PERFORM FROM account WHERE id = ANY (account_ids) ORDER BY id FOR NO KEY UPDATE;
  PERFORM FROM spender WHERE id = ANY (spender_ids) ORDER BY id FOR NO KEY UPDATE;
END $$;
