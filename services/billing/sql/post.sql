-- Applies a batch of operations in one call: one round trip, one commit. Locks what the batch touches (accounts by id,
-- then spenders by id, as everybody does), decides in memory in the order of the batch, then writes.
--
-- Arrays have one element per operation; what an operation does not have is null. A hold occurs once in a batch, and so does a
-- key of an account.
--   op_kind      place, capture, release, abandon (a release that gives up on the upstream), extend, next (attempt)
--   op_credits   place, extend: of the hold; capture: charge; otherwise 0
--   op_cost      capture, release, abandon: pico; next: pico of the attempt that failed
--   op_deadline  place, extend, next: Unix milliseconds
--   op_tag       place, next: index into the tag_ arrays, which have each combination once
--   op_attempt   next: number of the attempt that begins. Null when no operation has one
--   claim_key    place: the key that it claims, if any; claim_fingerprint: for what. Both null when no place claims one
--   asked_at     the time; null = the clock of this server
--   free_limit   most places of nothing (requests to free models) of an account in a UTC day; null = no limit
-- outcomes: one hexadecimal digit per operation, the OutcomeCode of the contract. remarks: a JSON array about those
-- operations for which a digit is not enough, or null; i is the operation's index, from 0.
--
-- Written for its cost: a statement that handles many rows is cheap per row but dear to start, so a batch of few is
-- written row by row. A plpgsql expression is compiled once per transaction, so there are few of them.
CREATE FUNCTION post(
  op_kind text[], op_hold uuid[], op_account uuid[], op_spender uuid[], op_credits bigint[], op_cost bigint[],
  op_deadline bigint[], op_tag integer[], op_attempt integer[],
  tag_service text[], tag_provider text[], tag_upstream_model text[], tag_model text[], tag_price_version text[],
  claim_key bytea[], claim_fingerprint bytea[], asked_at timestamptz, free_limit integer,
  OUT outcomes text, OUT remarks jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  done CONSTANT text := '1';
  insufficient_credits CONSTANT text := '2';
  spend_limit_exceeded CONSTANT text := '3';
  spender_inactive CONSTANT text := '4';
  spender_expired CONSTANT text := '5';
  unknown_hold CONSTANT text := '6';
  already_resolved CONSTANT text := '7';
  free_limit_exceeded CONSTANT text := '8';
  claim_finished CONSTANT text := 'b';

  size CONSTANT integer := cardinality(op_kind);
  few CONSTANT boolean := size < 4;
  moment timestamptz;

  -- The locked accounts and spenders, sorted by id, and what becomes of them.
  account_ids uuid[] := op_account;
  account_free bigint[];
  account_held bigint[];
  account_debits bigint[];
  spender_ids uuid[] := op_spender;
  spender_account uuid[];
  spender_active boolean[];
  spender_expires timestamptz[];
  spender_cap bigint[];
  spender_period spend_period[];
  spender_window integer[];
  spender_start timestamptz[];
  spender_window_used bigint[];
  spender_window_held bigint[];
  spender_used bigint[];
  spender_requests bigint[];

  -- What becomes of each operation's hold; null = nothing.
  placed_window integer[];
  new_state hold_state[];
  -- Places whose key has an owner, and places that got theirs; indexes from 1.
  taken integer[];
  claimed integer[];

  h hold;
  code text;
  a integer;
  s integer;
  more bigint;
  loss bigint;
  start timestamptz;
  fresh boolean;
  used bigint;
  held bigint;
  in_flight boolean;
  holder uuid;
  holder_state hold_state;
BEGIN
  outcomes := '';
  IF array_remove(op_kind, 'place') <> '{}' THEN
    SELECT account_ids || array_agg(x.account_id), spender_ids || array_agg(x.spender_id)
      INTO account_ids, spender_ids FROM hold x WHERE x.id = ANY (op_hold);
  END IF;
  SELECT coalesce(array_agg(l.id), '{}'), array_agg(l.credits - l.debits - l.held), array_agg(l.held), array_agg(l.debits)
    INTO account_ids, account_free, account_held, account_debits
    FROM (SELECT * FROM account WHERE id = ANY (account_ids) ORDER BY id FOR NO KEY UPDATE) l;
  SELECT coalesce(array_agg(l.id), '{}'), array_agg(l.account_id), array_agg(l.active), array_agg(l.expires_at),
         array_agg(l.cap), array_agg(l.period), array_agg(l.window_no), array_agg(l.window_start),
         array_agg(l.window_used), array_agg(l.window_held), array_agg(l.used), array_agg(l.requests)
    INTO spender_ids, spender_account, spender_active, spender_expires,
         spender_cap, spender_period, spender_window, spender_start,
         spender_window_used, spender_window_held, spender_used, spender_requests
    FROM (SELECT * FROM spender WHERE id = ANY (spender_ids) ORDER BY id FOR NO KEY UPDATE) l;
  -- Read after the locks: who waited for them must not decide by an earlier time than those before.
  moment := coalesce(asked_at, clock_timestamp());
  IF claim_key IS NOT NULL THEN
    SELECT array_agg(o.i) INTO taken FROM unnest(op_account, claim_key) WITH ORDINALITY AS o (account, key, i)
      JOIN idempotency c ON c.account_id = o.account AND c.key = o.key;
  END IF;
  IF NOT few THEN
    placed_window := array_fill(NULL::integer, ARRAY[size]);
    new_state := array_fill(NULL::hold_state, ARRAY[size]);
  END IF;

  FOR i IN 1 .. size LOOP
    SELECT * INTO h FROM hold x WHERE x.id = op_hold[i];

    -- Operations that the state of the hold answers.
    code := CASE
      WHEN op_kind[i] = 'place' THEN
        CASE WHEN h.id IS NULL THEN NULL
             WHEN h.state = 'open' AND h.account_id = op_account[i] AND h.spender_id = op_spender[i] THEN done
             ELSE already_resolved END
      WHEN h.id IS NULL THEN unknown_hold
      WHEN op_kind[i] = 'next' THEN
        CASE WHEN h.state <> 'open' THEN already_resolved
             WHEN h.attempt = op_attempt[i] THEN done
             WHEN h.attempt <> op_attempt[i] - 1 THEN already_resolved END
      WHEN h.state = 'open' THEN NULL
      WHEN h.state = 'captured' AND op_kind[i] = 'capture' AND h.charge = op_credits[i] AND h.cost = op_cost[i] THEN done
      WHEN h.state = 'released' AND op_kind[i] IN ('release', 'abandon') THEN done
      ELSE already_resolved END;
    IF code IS NOT NULL THEN
      outcomes := outcomes || code;
      -- A cost beyond the booked one is our loss. The first to report it wins.
      IF op_cost[i] > h.cost AND (op_kind[i] <> 'next' OR h.attempt = op_attempt[i] - 1) THEN
        loss := op_cost[i] - h.cost;
        INSERT INTO entry (at, account_id, hold_id, cost, kind, provider, attempt)
          VALUES (moment, h.account_id, h.id, loss, 'late', h.provider, h.attempt)
          ON CONFLICT (hold_id, kind, attempt) DO NOTHING;
        IF FOUND THEN
          remarks := coalesce(remarks, '[]') || jsonb_build_object('i', i - 1, 'late', loss::text);
        END IF;
      END IF;
      CONTINUE;
    END IF;

    IF h.id IS NULL THEN
      h.account_id := op_account[i];
      h.spender_id := op_spender[i];
    END IF;
    a := width_bucket(h.account_id, account_ids);
    s := width_bucket(h.spender_id, spender_ids);
    IF h.id IS NOT NULL AND (account_ids[a] IS DISTINCT FROM h.account_id OR spender_ids[s] IS DISTINCT FROM h.spender_id)
    THEN
      RAISE EXCEPTION 'hold % appeared after the locks were taken', h.id USING ERRCODE = 'serialization_failure';
    END IF;

    IF op_kind[i] = 'next' THEN
      IF op_cost[i] > 0 THEN
        INSERT INTO entry (at, account_id, hold_id, cost, kind, provider, attempt)
          VALUES (moment, h.account_id, h.id, op_cost[i], 'failed', h.provider, h.attempt);
        remarks := coalesce(remarks, '[]') || jsonb_build_object('i', i - 1, 'failed', op_cost[i]::text);
      END IF;
      UPDATE hold SET attempt = op_attempt[i], provider = tag_provider[op_tag[i]],
             upstream_model = tag_upstream_model[op_tag[i]],
             deadline_at = greatest(deadline_at, to_timestamp(op_deadline[i] / 1000::float8)) WHERE id = h.id;
      outcomes := outcomes || done;
      CONTINUE;
    END IF;

    -- Capture and release of an open hold always succeed.
    IF op_cost[i] IS NOT NULL THEN
      account_held[a] := account_held[a] - h.credits;
      account_free[a] := account_free[a] + h.credits - op_credits[i];
      account_debits[a] := account_debits[a] + op_credits[i];
      -- A charge belongs to the window that its hold was placed in.
      IF h.window_no = spender_window[s] THEN
        spender_window_held[s] := spender_window_held[s] - h.credits;
        spender_window_used[s] := spender_window_used[s] + op_credits[i];
      END IF;
      IF op_kind[i] = 'capture' THEN
        spender_used[s] := spender_used[s] + op_credits[i];
        spender_requests[s] := spender_requests[s] + 1;
      ELSIF op_kind[i] = 'abandon' THEN
        remarks := coalesce(remarks, '[]') || jsonb_build_object(
          'i', i - 1, 'abandoned', h.credits::text, 'late', CASE WHEN op_cost[i] > 0 THEN op_cost[i]::text END);
      ELSIF op_cost[i] > 0 THEN
        remarks := coalesce(remarks, '[]') || jsonb_build_object('i', i - 1, 'failed', op_cost[i]::text);
      END IF;
      IF few THEN
        UPDATE hold SET state = CASE op_kind[i] WHEN 'capture' THEN 'captured' ELSE 'released' END::hold_state,
               charge = op_credits[i], cost = op_cost[i] WHERE id = h.id;
        IF op_kind[i] = 'capture' THEN
          INSERT INTO entry (at, account_id, hold_id, credits, cost, kind, provider, attempt)
            VALUES (moment, h.account_id, h.id, op_credits[i], op_cost[i], 'charge', h.provider, h.attempt);
          INSERT INTO usage_daily AS u (account_id, day, spender_id, model, requests, charge, cost)
            VALUES (h.account_id, (moment AT TIME ZONE 'UTC')::date, h.spender_id, h.model, 1, op_credits[i], op_cost[i])
            ON CONFLICT (account_id, day, spender_id, model) DO UPDATE
              SET requests = u.requests + 1, charge = u.charge + excluded.charge, cost = u.cost + excluded.cost;
        ELSIF op_cost[i] > 0 THEN
          INSERT INTO entry (at, account_id, hold_id, cost, kind, provider, attempt)
            VALUES (moment, h.account_id, h.id, op_cost[i],
                    CASE op_kind[i] WHEN 'release' THEN 'failed' ELSE 'late' END::entry_kind, h.provider, h.attempt);
        END IF;
      ELSE
        new_state[i] := CASE op_kind[i] WHEN 'capture' THEN 'captured' ELSE 'released' END;
      END IF;
      outcomes := outcomes || done;
      CONTINUE;
    END IF;

    -- Place, or extend of an open hold: may the spender take this much more?
    more := greatest(op_credits[i] - coalesce(h.credits, 0), 0);
    in_flight := false;
    IF s = 0 OR spender_ids[s] <> h.spender_id OR spender_account[s] <> h.account_id OR NOT spender_active[s] THEN
      code := spender_inactive;
    ELSIF spender_expires[s] <= moment THEN
      code := spender_expired;
    ELSIF i = ANY (taken) THEN
      -- What became of the key comes before money. The owner is locked: nobody may keep an answer of a hold that this batch
      -- has released in memory only. Then the claim is read once more, with what was kept until now.
      SELECT x.id, x.state INTO holder, holder_state FROM idempotency c JOIN hold x ON x.id = c.hold_id
       WHERE c.account_id = h.account_id AND c.key = claim_key[i] FOR NO KEY UPDATE OF x;
      holder_state := coalesce(new_state[array_position(op_hold, holder)], holder_state);
      SELECT claim_outcome(c, holder_state, claim_fingerprint[i], moment) INTO code
        FROM idempotency c WHERE c.account_id = h.account_id AND c.key = claim_key[i];
    END IF;
    IF code IS NULL THEN
      -- Lazy reset: a start never moves back, and an extension stays in the window of its hold.
      start := start_of_window(spender_period[s], moment);
      fresh := h.id IS NULL AND coalesce(spender_start[s] < start, start IS NOT NULL);
      used := CASE WHEN fresh THEN 0 ELSE spender_window_used[s] END;
      held := CASE WHEN fresh THEN 0 ELSE spender_window_held[s] END;
      -- What would not fit even without holds comes first: waiting does not help there.
      code := CASE
        WHEN more = 0 THEN done
        WHEN used + op_credits[i] > spender_cap[s] THEN spend_limit_exceeded
        WHEN h.window_no <> spender_window[s] AND spender_cap[s] IS NOT NULL THEN spend_limit_exceeded
        WHEN op_credits[i] > account_free[a] + account_held[a] THEN insufficient_credits
        WHEN used + held + more <= coalesce(spender_cap[s], used + held + more) AND more <= account_free[a] THEN done
        END;
      IF code IS NULL THEN
        in_flight := true;
        code := CASE WHEN used + held + more > spender_cap[s] THEN spend_limit_exceeded ELSE insufficient_credits END;
      END IF;
    END IF;
    IF more = 0 THEN
      IF op_kind[i] = 'extend' THEN
        code := done;
      ELSIF free_limit IS NOT NULL AND code = done THEN
        UPDATE account l
           SET free_used = CASE WHEN l.free_day >= (moment AT TIME ZONE 'UTC')::date THEN l.free_used ELSE 0 END + 1,
               free_day = greatest(l.free_day, (moment AT TIME ZONE 'UTC')::date)
         WHERE l.id = h.account_id
           AND (l.free_used < free_limit OR l.free_day < (moment AT TIME ZONE 'UTC')::date);
        IF NOT FOUND THEN
          code := free_limit_exceeded;
        END IF;
      END IF;
    END IF;
    outcomes := outcomes || code;

    IF code > free_limit_exceeded THEN
      IF code = claim_finished THEN
        remarks := coalesce(remarks, '[]') || jsonb_build_object('i', i - 1, 'holder', holder);
      END IF;
      CONTINUE;
    ELSIF code <> done THEN
      remarks := coalesce(remarks, '[]') || jsonb_build_object(
        'i', i - 1,
        'inFlight', in_flight,
        'available', CASE WHEN account_ids[a] = h.account_id THEN greatest(account_free[a], 0)::text END,
        'cap', CASE code WHEN spend_limit_exceeded THEN spender_cap[s]::text END,
        'period', CASE code WHEN spend_limit_exceeded THEN spender_period[s] END,
        'resetsAt', CASE code
          WHEN spend_limit_exceeded THEN unix_ms(end_of_window(spender_period[s], greatest(start, spender_start[s])))
          WHEN free_limit_exceeded THEN
            (SELECT unix_ms((l.free_day + 1)::timestamp AT TIME ZONE 'UTC') FROM account l WHERE l.id = h.account_id) END,
        'expiresAt', CASE code WHEN spender_expired THEN unix_ms(spender_expires[s]) END);
      CONTINUE;
    END IF;
    account_free[a] := account_free[a] - more;
    account_held[a] := account_held[a] + more;
    IF op_kind[i] = 'place' THEN
      IF fresh THEN
        spender_window[s] := spender_window[s] + 1;
        spender_start[s] := start;
        spender_window_used[s] := 0;
      END IF;
      spender_window_held[s] := held + more;
      IF claim_key[i] IS NOT NULL THEN
        claimed := claimed || i;
      END IF;
      IF few THEN
        INSERT INTO hold (id, account_id, spender_id, credits, placed_at, deadline_at, window_no, attempt, state,
                          service, provider, upstream_model, model, price_version)
          VALUES (op_hold[i], h.account_id, h.spender_id, more, moment, to_timestamp(op_deadline[i] / 1000::float8),
                  spender_window[s], 1, 'open', tag_service[op_tag[i]], tag_provider[op_tag[i]],
                  tag_upstream_model[op_tag[i]], tag_model[op_tag[i]], tag_price_version[op_tag[i]]);
      ELSE
        placed_window[i] := spender_window[s];
      END IF;
    ELSE
      IF h.window_no = spender_window[s] THEN
        spender_window_held[s] := spender_window_held[s] + more;
      END IF;
      UPDATE hold SET credits = credits + more,
             deadline_at = greatest(deadline_at, to_timestamp(op_deadline[i] / 1000::float8)) WHERE id = h.id;
    END IF;
  END LOOP;

  IF claimed IS NOT NULL THEN
    -- What was kept for an earlier owner of a key goes with it.
    INSERT INTO idempotency (account_id, key, fingerprint, hold_id, claimed_at)
      SELECT op_account[n], claim_key[n], claim_fingerprint[n], op_hold[n], moment FROM unnest(claimed) n
      ON CONFLICT (account_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, hold_id = excluded.hold_id, claimed_at = excluded.claimed_at,
            content_type = NULL, body = NULL, credits = NULL, cost = NULL;
  END IF;
  IF few THEN
    FOR a IN 1 .. cardinality(account_ids) LOOP
      UPDATE account l SET held = account_held[a], debits = account_debits[a]
       WHERE l.id = account_ids[a] AND (l.held <> account_held[a] OR l.debits <> account_debits[a]);
    END LOOP;
    FOR s IN 1 .. cardinality(spender_ids) LOOP
      UPDATE spender l
         SET window_no = spender_window[s], window_start = spender_start[s], window_used = spender_window_used[s],
             window_held = spender_window_held[s], used = spender_used[s], requests = spender_requests[s]
       WHERE l.id = spender_ids[s]
         AND (l.window_no <> spender_window[s] OR l.window_held <> spender_window_held[s] OR l.requests <> spender_requests[s]);
    END LOOP;
    RETURN;
  END IF;
  INSERT INTO hold (id, account_id, spender_id, credits, placed_at, deadline_at, window_no, attempt, state,
                    service, provider, upstream_model, model, price_version)
    SELECT o.hold, o.account, o.spender, o.credits, moment, to_timestamp(o.deadline / 1000::float8), o.window_no, 1,
           'open', tag_service[o.tag], tag_provider[o.tag], tag_upstream_model[o.tag], tag_model[o.tag],
           tag_price_version[o.tag]
      FROM unnest(op_hold, op_account, op_spender, op_credits, op_deadline, op_tag, placed_window)
           AS o (hold, account, spender, credits, deadline, tag, window_no)
     WHERE o.window_no IS NOT NULL;
  WITH resolved AS (
    UPDATE hold x SET state = o.state, charge = o.credits, cost = o.cost
      FROM unnest(op_hold, op_kind, new_state, op_credits, op_cost) AS o (hold, kind, state, credits, cost)
     WHERE x.id = o.hold AND o.state IS NOT NULL
    RETURNING x.id, x.account_id, x.spender_id, x.provider, x.attempt, x.model, x.charge, x.cost, o.kind
  ), booked AS (
    INSERT INTO entry (at, account_id, hold_id, credits, cost, kind, provider, attempt)
      SELECT moment, r.account_id, r.id, r.charge, r.cost,
             CASE r.kind WHEN 'capture' THEN 'charge' WHEN 'release' THEN 'failed' ELSE 'late' END::entry_kind,
             r.provider, r.attempt
        FROM resolved r WHERE r.kind = 'capture' OR r.cost > 0
  )
  INSERT INTO usage_daily AS u (account_id, day, spender_id, model, requests, charge, cost)
    SELECT r.account_id, (moment AT TIME ZONE 'UTC')::date, r.spender_id, r.model, count(*), sum(r.charge), sum(r.cost)
      FROM resolved r WHERE r.kind = 'capture' GROUP BY r.account_id, r.spender_id, r.model
    ON CONFLICT (account_id, day, spender_id, model) DO UPDATE
      SET requests = u.requests + excluded.requests, charge = u.charge + excluded.charge, cost = u.cost + excluded.cost;
  UPDATE account l SET held = o.held, debits = o.debits
    FROM unnest(account_ids, account_held, account_debits) AS o (id, held, debits)
   WHERE l.id = o.id AND (l.held <> o.held OR l.debits <> o.debits);
  UPDATE spender l
     SET window_no = o.window_no, window_start = o.window_start, window_used = o.window_used,
         window_held = o.window_held, used = o.used, requests = o.requests
    FROM unnest(spender_ids, spender_window, spender_start, spender_window_used, spender_window_held, spender_used,
                spender_requests) AS o (id, window_no, window_start, window_used, window_held, used, requests)
   WHERE l.id = o.id
     AND (l.window_no <> o.window_no OR l.window_held <> o.window_held OR l.requests <> o.requests);
END $$;

-- The locks of a transaction that calls post more than once, all of them before anything is read, in the
-- order that everybody keeps: accounts by id, then spenders by id.
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
