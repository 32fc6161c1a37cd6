// Step range owns the position of a reader of the ledger: a snapshot of PostgreSQL, whose visible steps the reader has applied.
// The next range is every step that a later snapshot shows and the former did not, so a transaction that commits late is
// never skipped, and an open one delays no other step.

/** Transactions between two slices of a long range. */
const MOST_TRANSACTIONS = 2_000n;

/** The parts of a `pg_snapshot`. Transactions from `end` on, and the running ones, are invisible. */
export interface Snapshot {
  /** No transaction before it was running. */
  readonly start: bigint;
  readonly end: bigint;
  readonly running: readonly bigint[];
}

export interface StepRange {
  /** Steps of the transactions from this one on ... */
  readonly from: bigint;
  /** ... and before this one, */
  readonly until: bigint;
  /** and steps of these earlier ones, if they are visible by now, */
  readonly late: readonly bigint[];
  /** but none of these. A worker of a distributed ledger can show a step that was committed after its snapshot. */
  readonly running: readonly bigint[];
  /** Position after the range. */
  readonly next: Snapshot;
}

/** @param text `pg_snapshot` as PostgreSQL writes it: start:end:running,… */
export function readSnapshot(text: string): Snapshot {
  const [start, end, running] = text.split(":");
  if (start === undefined || end === undefined || running === undefined) {
    throw new RangeError(`PostgreSQL wrote the snapshot ${text}, and not three parts.`);
  }
  const ids = running === "" ? [] : running.split(",").map(BigInt);
  return { start: BigInt(start), end: BigInt(end), running: ids };
}

export function snapshotText({ start, end, running }: Snapshot): string {
  return `${start}:${end}:${running.join(",")}`;
}

/**
 * A range never ends among running transactions, unless it ends with the present.
 * @param first the earliest transaction with a step from `seen.end` on; undefined if there is none
 */
export function rangeAfter(seen: Snapshot, now: Snapshot, first: bigint | undefined): StepRange {
  const { end: from, running: late } = seen;
  const { running } = now;
  const slice = (first ?? now.end) + MOST_TRANSACTIONS;
  if (slice > now.start) return { from, until: now.end, late, running, next: now };
  return { from, until: slice, late, running, next: { start: slice, end: slice, running: [] } };
}

/**
 * Transactions are counted anew in a database that was restored from a dump: positions of the former one have no meaning.
 */
export function isOfAnotherServer(seen: Snapshot, now: Snapshot): boolean {
  return seen.end > now.end;
}
