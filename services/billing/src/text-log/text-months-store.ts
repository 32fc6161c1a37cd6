// Text-months store owns the partitions of `text_line`, the log of text requests: a month each, created ahead and dropped as a whole.
// Partitions have all times: the first has no begin, the last has no end and is empty. So an insert always finds its partition.
// Each change of a partition locks the log for milliseconds; a long check of rows runs before, beside reads and writes.
import type { Pool, PoolClient } from "@gr/runtime";

export interface TextMonth {
  /** As SQL has it. */
  readonly name: string;
  /** Null of the first. */
  readonly beginsAt: Date | null;
  /** Null of the last. */
  readonly endsAt: Date | null;
}

/** Months after the present one that have a partition before the last one begins. */
const MONTHS_AHEAD = 2;
/** Proof of the bounds of a partition, so that ATTACH reads no row. */
const BOUNDS = "text_line_bounds";
/** Requests of the log wait behind the wait for a lock. */
const BRIEFLY = "SET LOCAL lock_timeout = '2s'";
const DAY_MS = 86_400_000;
/** Milliseconds of the longest check of rows. */
const PATIENCE_MS = 24 * 3_600_000;

const MONTHS = `SELECT c.oid::regclass::text AS name, substring(bounds FROM 'FROM \\(''([^'']+)')::timestamptz AS "beginsAt",
    substring(bounds FROM 'TO \\(''([^'']+)')::timestamptz AS "endsAt"
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, LATERAL pg_get_expr(c.relpartbound, c.oid) bounds
  WHERE i.inhparent = 'text_line'::regclass ORDER BY "beginsAt" NULLS FIRST`;

/** @returns the partitions, oldest first */
export async function textMonths(db: Pick<PoolClient, "query">): Promise<TextMonth[]> {
  return (await db.query<TextMonth>(MONTHS)).rows;
}

/** Creates the partitions of this month and the following ones. Does nothing while another process changes partitions. */
export async function createMonths(pool: Pool, now: Date): Promise<void> {
  await alone(pool, async (client) => {
    for (;;) {
      const last = (await textMonths(client)).at(-1);
      if (last === undefined) throw new Error("The log of text requests has no partition.");
      if (last.beginsAt !== null && last.beginsAt > monthOf(now, MONTHS_AHEAD)) return;
      await endPartition(client, last, endOf(last, now));
    }
  });
}

/** After a pause of billing the last partition may have lines up to the present month. */
function endOf({ beginsAt }: TextMonth, now: Date): Date {
  const soonest = monthOf(now, MONTHS_AHEAD);
  return beginsAt === null || beginsAt < soonest ? soonest : monthOf(beginsAt, 1);
}

/** Ends the last partition and begins the next one. A check of its rows blocks neither reads nor writes. */
async function endPartition(client: PoolClient, { name, beginsAt }: TextMonth, end: Date): Promise<void> {
  const [from, until] = [boundOf(beginsAt, "MINVALUE"), boundOf(end, "MAXVALUE")];
  const terms = [...(beginsAt === null ? [] : [`began_at >= ${from}`]), `began_at < ${until}`];
  // A constraint of an earlier call may have another end.
  await client.query(`${BRIEFLY}; ALTER TABLE ${name} DROP CONSTRAINT IF EXISTS ${BOUNDS},
    ADD CONSTRAINT ${BOUNDS} CHECK (${terms.join(" AND ")}) NOT VALID`);
  await client.query("BEGIN; SET LOCAL statement_timeout = 0");
  const check = { text: `ALTER TABLE ${name} VALIDATE CONSTRAINT ${BOUNDS}`, query_timeout: PATIENCE_MS };
  await client.query(check);
  await client.query("COMMIT");
  const [, year, month] = /^(\d+)-(\d+)/.exec(end.toISOString()) ?? [];
  await client.query(`${BRIEFLY}; ALTER TABLE text_line DETACH PARTITION ${name};
    ALTER TABLE text_line ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${until});
    ALTER TABLE ${name} DROP CONSTRAINT ${BOUNDS};
    CREATE TABLE text_line_${year}_${month} PARTITION OF text_line (PRIMARY KEY (id)) FOR VALUES FROM (${until}) TO (MAXVALUE)`);
}

/**
 * Drops the oldest partitions if no account keeps a line of them. The first one is emptied instead, and has the times of all dropped ones.
 * @param byDefault days of accounts without a term of their own
 */
export async function dropMonths(pool: Pool, byDefault: number, now: Date): Promise<void> {
  await alone(pool, async (client) => {
    const ended: TextMonth[] = [];
    for (const month of await textMonths(client)) {
      if (month.endsAt === null || month.endsAt > keptFrom(byDefault, now)) break;
      if (await hasRow(client, keptLine(month.name), [byDefault, now])) break;
      ended.push(month);
    }
    const [first, ...later] = ended;
    if (first === undefined) return;
    const names = later.map(({ name }) => name).join(", ");
    if (names !== "") {
      const end = boundOf(later.at(-1)?.endsAt ?? null, "MAXVALUE");
      await client.query(`${BRIEFLY}; LOCK TABLE ONLY text_line; TRUNCATE ${first.name}; DROP TABLE ${names};
        ALTER TABLE text_line DETACH PARTITION ${first.name};
        ALTER TABLE text_line ATTACH PARTITION ${first.name} FOR VALUES FROM (MINVALUE) TO (${end})`);
    } else if (await hasRow(client, `SELECT FROM ${first.name}`)) {
      await client.query(`${BRIEFLY}; TRUNCATE ${first.name}`);
    }
  });
}

/** Lines of accounts without a term of their own are kept to the end of a month. @returns begin of the oldest one that is kept */
export function keptFrom(byDefault: number, now: Date): Date {
  return monthOf(new Date(now.getTime() - byDefault * DAY_MS), 0);
}

/** A line in a month that has ended for accounts without a term of their own. */
const keptLine = (name: string) => `SELECT FROM text_retention own WHERE own.days > $1 AND EXISTS (
    SELECT FROM ${name} t WHERE t.account_id = own.account_id AND t.began_at >= $2::timestamptz - own.days * interval '1 day')`;

async function hasRow(client: PoolClient, text: string, values: unknown[] = []): Promise<boolean> {
  return (await client.query(`${text} LIMIT 1`, values)).rows.length > 0;
}

/** @returns the begin of the month in UTC, so many months later */
function monthOf(time: Date, later: number): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + later));
}

function boundOf(time: Date | null, none: "MINVALUE" | "MAXVALUE"): string {
  return time === null ? none : `timestamptz '${time.toISOString()}'`;
}

/** Works on one connection, which is closed after an error: this releases its locks and ends its transaction. */
async function alone(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let isIntact = false;
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      "SELECT pg_try_advisory_lock(hashtext('text_line')) AS locked",
    );
    if (rows[0]?.locked === true) {
      await work(client);
      await client.query("SELECT pg_advisory_unlock(hashtext('text_line'))");
    }
    isIntact = true;
  } finally {
    client.release(!isIntact);
  }
}
