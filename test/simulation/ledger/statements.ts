// Statements own the answers of the simulated PostgreSQL. Each statement of billing has one function here that reads or writes the same
// rows as its text. An unknown text fails. `replay.test.ts` compares each answer with PostgreSQL.
import type { StateRow } from "@gr/billing/simulated";
import type { Database } from "./database.ts";
import type { Ending } from "./postgres.ts";
import type { Session } from "./session.ts";
import { claimKey, isSound, rowsOf, type TableStep } from "./step-tables.ts";
import type { Batch } from "./writer-watch.ts";

export interface Reply {
  readonly rows: readonly object[];
  readonly rowCount: number;
}

export interface Sent {
  readonly text: string;
  readonly name: string | undefined;
  readonly values: readonly unknown[];
  /** Work of the writer when it sent the statement. */
  readonly batch: Batch | undefined;
}

class SqlError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`the server answers ${code}`);
    this.code = code;
  }
}

/** Kind of a step. */
const PLACE = 2;
const UNIQUE_VIOLATION = "23505";
const CHECK_VIOLATION = "23514";
const LOCK_TIMEOUT = "55P03";
/** As in `packages/runtime`. */
const LOCK_TIMEOUT_MS = 10_000;
/** Between two looks of a statement that waits for another transaction. */
const WAIT_MS = 4;

/** The journal has statements of followers without their positions, which differ in PostgreSQL. */
const OF_FOLLOWERS = /step_cursor|SELECT min\(s\.tx\)|s\.tx = ANY \(\$2/;

type Answer = (session: Session, values: readonly unknown[], sent: Sent) => readonly object[];

const NO_ROWS = { rows: [] };
const APPLY_TO_HOLDS = "WITH changed AS (";

/** By name of the statement. No simulated account is from before the chain. */
const NAMED: Readonly<Record<string, Answer>> = {
  earlier_owners: () => [],
  earlier_deposit: () => [],
  earlier_adjustment: () => [],
  earlier_answer: () => [],
  tails: ({ database: { steps, audit } }, [, , ids, known], { batch }) => {
    const numbers = known as number[];
    const asked = (ids as string[]).map((id, index) => ({ id, seq: numbers[index] ?? 0 }));
    return asked.sort(inOrder).flatMap(({ id, seq }) => {
      const rows = steps.chain(id).slice(seq);
      if (batch !== undefined && rows.length === 0) audit.confirmed(batch, id);
      return rows;
    });
  },
  latest_steps: ({ database: { steps, world, audit } }, [, , ids], { batch }) => {
    world.count("used-up budgets confirmed");
    return (ids as string[]).flatMap((id) => {
      if (batch !== undefined) audit.confirmed(batch, id);
      return steps
        .chain(id)
        .slice(-1)
        .map(({ account_id, seq, at, credited, debited, held }) => ({
          ...{ account_id, seq, at, credited, debited, held },
        }));
    });
  },
  beginnings: ({ database: { steps } }, [, buckets, ids]) =>
    (ids as string[]).flatMap((id, index) =>
      steps.beginnings(id).filter(({ bucket }) => bucket === (buckets as number[])[index]),
    ),
  steps_of_holds: (session, values) => stepsOfHolds(session, values),
  late_costs: (session, values) => stepsOfHolds(session, values).filter(({ kind }) => kind === 8),
  latest_claims: ({ database: { steps } }, [, , ids, keys]) =>
    (ids as string[]).flatMap((id, index) => {
      const key = (keys as Buffer[])[index] ?? Buffer.alloc(0);
      return steps.claims.get(claimKey(id, key))?.slice(-1) ?? [];
    }),
  states: ({ database: { steps, world } }, [, , ids]) => {
    world.count("accounts started cold");
    return (ids as string[]).flatMap((id) => {
      const state = steps.states.get(id);
      if (state === undefined) return [];
      world.count("accounts started from a state");
      const budgets = [...(steps.budgetStates.get(id) ?? [])].sort(([one], [other]) => one - other);
      return [{ ...state, budgets: budgets.map(([, { content }]) => content) }];
    });
  },
  store_account: (session, values) => {
    const state = stateOf(values);
    const { states } = session.database.steps;
    session.write(() => {
      const known = states.get(state.account_id);
      if (known === undefined || known.seq < state.seq) states.set(state.account_id, state);
    });
    return [];
  },
  store_budgets: (session, [, accountId, number, numbers, contents]) => {
    const { budgetStates } = session.database.steps;
    const seq = BigInt(number as number);
    session.write(() => {
      const own = budgetStates.get(accountId as string) ?? new Map();
      budgetStates.set(accountId as string, own);
      for (const [index, budget] of (numbers as number[]).entries()) {
        const known = own.get(budget);
        if (known === undefined || known.seq < seq)
          own.set(budget, { seq, content: (contents as string[])[index] ?? "" });
      }
    });
    return [];
  },
};

/** By a part of the text that no other statement has. */
const UNNAMED: readonly (readonly [part: string, answer: Answer])[] = [
  [
    "SELECT s.id, s.account_id FROM step s",
    ({ database: { steps } }, [, ids]) =>
      (ids as string[]).flatMap((id) =>
        steps
          .beginnings(id)
          .filter(({ kind }) => kind === PLACE)
          .map(({ account_id }) => ({ id, account_id })),
      ),
  ],
  [
    "SELECT s.account_id, s.kind, s.credits, s.detail FROM step s",
    ({ database: { steps } }, [, id]) =>
      steps
        .beginnings(id as string)
        .filter(({ kind }) => kind !== PLACE)
        .sort((one, other) => one.kind - other.kind)
        .map(({ account_id, kind, credits, detail }) => ({ account_id, kind, credits, detail })),
  ],
  [
    "FROM deposit_report WHERE",
    ({ database: { steps } }, [, id]) => {
      const report = steps.reports.get(id as string);
      return report === undefined ? [] : [report];
    },
  ],
  [
    "INSERT INTO deposit_report",
    (session, [, accountId, id, credits, status, source]) => {
      const { reports } = session.database.steps;
      session.write(() => {
        const known = reports.get(id as string);
        const report = known ?? {
          account_id: accountId as string,
          credits: credits as bigint,
          source: source as string,
        };
        reports.set(id as string, { ...report, status: status as string });
      });
      return [];
    },
  ],
  [
    'SELECT a.content_type AS "contentType"',
    ({ database: { steps } }, [bucket, accountId, holdId, after]) => {
      const answer = steps.answers.get(`${accountId} ${holdId}`);
      const place = steps
        .beginnings(holdId as string)
        .find((step) => step.bucket === bucket && step.kind === PLACE);
      if (answer === undefined || place === undefined || place.account_id !== accountId) return [];
      if (place.at <= BigInt(after as number)) return [];
      return [{ contentType: answer.content_type, body: answer.body }];
    },
  ],
  ["FROM pg_class WHERE oid = 'step'::regclass", () => [{ schema: "billing", hasCitus: false }]],
  ["FROM step_cursor WHERE reader = $1 GROUP BY", (session) => session.database.followers.peek(session)],
  ["FOR UPDATE SKIP LOCKED) own", (session) => session.database.followers.lock(session)],
  ["SELECT min(s.tx) AS first", (session, values) => session.database.followers.first(session, values)],
  [
    "s.tx = ANY ($2::bigint[])) AS found",
    (session, values) => session.database.followers.hasLate(session, values),
  ],
  ["UPDATE step_cursor SET seen", (session, values) => session.database.followers.move(session, values)],
  [
    APPLY_TO_HOLDS,
    (session, values, sent) => {
      const { followers, journal } = session.database;
      const txs = followers.apply(session, values);
      session.write(() => journal?.entries.push({ sent, answer: NO_ROWS, txs }));
      return [];
    },
  ],
  [
    "FROM open_hold\n  WHERE service = $1",
    ({ database: { followers } }, values) => followers.overdue(values),
  ],
];

const known = new Map<string, Answer>();

/** @throws Error for a statement that has no answer here, or several */
function answerOf(text: string): Answer {
  let answer = known.get(text);
  if (answer === undefined) {
    const found = UNNAMED.filter(([part]) => text.includes(part));
    if (found.length !== 1)
      throw new Error(`The simulated PostgreSQL has ${found.length} answers to: ${text}`);
    answer = found[0]?.[1] ?? (() => []);
    known.set(text, answer);
  }
  return answer;
}

const ADVISORY_LOCK = "SELECT pg_advisory_xact_lock";

/** Runs a statement that has reached the server. */
export function executeStatement(session: Session, sent: Sent, ending: Ending<Reply>): void {
  const { world } = session.database;
  try {
    if (sent.name === "insert_steps" || sent.name === "insert_all") insert(session.database, sent, ending);
    else if (sent.text.startsWith(ADVISORY_LOCK)) lock(session, sent, ending);
    else {
      const answer = (sent.name === undefined ? undefined : NAMED[sent.name]) ?? answerOf(sent.text);
      const rows = answer(session, sent.values, sent);
      record(session, sent, rows);
      ending.answerNow({ rows, rowCount: rows.length });
    }
  } catch (error) {
    ending.refuse(world.fail(error));
  }
}

/** A write is recorded at its commit. */
function record(session: Session, sent: Sent, rows: readonly object[]): void {
  const { journal } = session.database;
  if (journal === undefined || OF_FOLLOWERS.test(sent.text) || sent.text.startsWith(APPLY_TO_HOLDS)) return;
  const entry = { sent, answer: { rows } };
  if (sent.text.startsWith("INSERT")) session.write(() => journal.entries.push(entry));
  else journal.entries.push(entry);
}

/** Waits for other transactions with the same keys, as PostgreSQL does. */
function insert(database: Database, sent: Sent, ending: Ending<Reply>): void {
  const { world, steps, audit, journal } = database;
  const { batch } = sent;
  const rows = rowsOf(sent.values);
  const since = world.now;
  const refuse = (code: string) => {
    journal?.entries.push({ sent, answer: { error: code } });
    ending.refuse(new SqlError(code));
  };
  const attempt = () => {
    if (world.postgresAwayUntil > world.now) return ending.lose();
    const conflict = steps.conflict(rows);
    if (conflict === "running") {
      if (world.now > since + LOCK_TIMEOUT_MS) return ending.refuse(new SqlError(LOCK_TIMEOUT));
      return world.after(WAIT_MS, attempt);
    }
    if (conflict === "unique") {
      world.count("races lost");
      return refuse(UNIQUE_VIOLATION);
    }
    const running = steps.begin(rows);
    const commit = () => {
      if (world.postgresAwayUntil > world.now) {
        steps.abort(running);
        return ending.lose();
      }
      try {
        if (batch === undefined) throw new Error("Steps are written outside of a batch.");
        audit.stored(batch, rows.steps);
        if (!rows.steps.every(isSound)) {
          steps.abort(running);
          return refuse(CHECK_VIOLATION);
        }
        steps.commit(running);
      } catch (error) {
        return ending.refuse(world.fail(error));
      }
      journal?.entries.push({ sent, answer: NO_ROWS, tx: running.tx });
      ending.answer({ rows: [], rowCount: rows.steps.length });
    };
    const delay = world.commitDelay();
    if (delay === 0) return commit();
    world.count("commits that came late");
    world.after(delay, commit);
  };
  attempt();
}

function lock(session: Session, { values: [id] }: Sent, { answer, refuse, lose }: Ending<Reply>): void {
  const { world, locks } = session.database;
  const since = world.now;
  const key = id as string;
  const attempt = () => {
    if (world.postgresAwayUntil > world.now || !session.isInTransaction) return lose();
    if (locks.get(key)?.isInTransaction === true) {
      if (world.now > since + LOCK_TIMEOUT_MS) return refuse(new SqlError(LOCK_TIMEOUT));
      return world.after(WAIT_MS, attempt);
    }
    locks.set(key, session);
    session.atEnd(() => {
      if (locks.get(key) === session) locks.delete(key);
    });
    answer({ rows: [], rowCount: 0 });
  };
  attempt();
}

function stepsOfHolds({ database: { steps } }: Session, values: readonly unknown[]): TableStep[] {
  const [, accountId, from, to, ids] = values as [number, string, number, number, string[]];
  return steps
    .chain(accountId)
    .slice(from, to)
    .filter(({ id }) => ids.includes(id));
}

function inOrder({ id: one }: { readonly id: string }, { id: other }: { readonly id: string }): number {
  return one.slice(-2) + one < other.slice(-2) + other ? -1 : 1;
}

function stateOf(values: readonly unknown[]): StateRow {
  const [, id, seq, at, credited, adjusted, debited, held, suspended, freeDay, freeUsed, ...others] = values;
  const [holds, carriedAt] = others;
  return {
    account_id: id as string,
    seq: BigInt(seq as number),
    at: BigInt(at as number),
    credited: credited as bigint,
    adjusted: adjusted as bigint,
    debited: debited as bigint,
    held: held as bigint,
    suspended: suspended as boolean,
    free_day: BigInt(freeDay as number),
    free_used: freeUsed as number,
    open_holds: holds as string,
    carried_at: BigInt(carriedAt as number),
  };
}
