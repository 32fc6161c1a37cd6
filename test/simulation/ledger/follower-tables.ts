// Follower tables own the rows behind the ledger in the simulated PostgreSQL: the cursor of the reader of open holds, and its list.
// A transaction sees the steps of one snapshot, and its writes are visible after its commit.
import { smaller } from "@gr/money";
import type { Session } from "./session.ts";
import type { StepTables, TableStep } from "./step-tables.ts";

interface Snapshot {
  readonly end: bigint;
  readonly running: ReadonlySet<bigint>;
  readonly text: string;
}

interface OpenHold {
  readonly account_id: string;
  readonly hold_id: string;
  readonly deadline_at: bigint;
  readonly leased_until: bigint;
  readonly service: string;
}

/** Buckets of the accounts of a history. The real table has all, and one position as well. */
const BUCKETS: readonly number[] = [0, 1];
const ENDS: ReadonlySet<number> = new Set([5, 6, 7]);
const DEADLINES: ReadonlySet<number> = new Set([2, 3, 4]);
const LEASE = 9;
const PLACE = 2;

export class FollowerTables {
  readonly #steps: StepTables;
  readonly #openHolds = new Map<string, OpenHold>();
  #seen = "3:3:";
  #lockedBy: Session | undefined;

  constructor(steps: StepTables) {
    this.#steps = steps;
  }

  /** As a statement sees it that begins now. */
  snapshot(): Snapshot {
    const { nextTx: end, running } = this.#steps;
    const txs = [...running].map(({ tx }) => tx).sort((one, other) => (one < other ? -1 : 1));
    return { end, running: new Set(txs), text: `${txs[0] ?? end}:${end}:${txs.join(",")}` };
  }

  peek(session: Session): object[] {
    return [{ buckets: BUCKETS, node: 0, seen: this.#seen, now: session.snapshot.text }];
  }

  /** @returns nothing if another session has the cursor */
  lock(session: Session): object[] {
    if (this.#lockedBy !== undefined && this.#lockedBy !== session && this.#lockedBy.isInTransaction)
      return [];
    this.#lockedBy = session;
    session.atEnd(() => {
      if (this.#lockedBy === session) this.#lockedBy = undefined;
    });
    return this.peek(session);
  }

  first(session: Session, [, from, until]: readonly unknown[]): object[] {
    const [first, end] = [from as bigint, until as bigint];
    const txs = this.#visible(session).flatMap(({ tx }) => (tx >= first && tx < end ? [tx] : []));
    return [{ first: txs.length === 0 ? null : txs.reduce((one, other) => smaller(one, other)) }];
  }

  hasLate(session: Session, [, running]: readonly unknown[]): object[] {
    return [{ found: this.#visible(session).some(({ tx }) => (running as bigint[]).includes(tx)) }];
  }

  move(session: Session, [, , seen]: readonly unknown[]): object[] {
    session.write(() => {
      this.#seen = seen as string;
    });
    return [];
  }

  /** Applies the steps of a range to the list. @returns their transactions */
  apply(session: Session, [, from, until, late, running]: readonly unknown[]): bigint[] {
    const [first, end, earlier] = [from as bigint, until as bigint, late as bigint[]];
    const inserts = this.#visible(session).filter(
      ({ tx }) => ((tx >= first && tx < end) || earlier.includes(tx)) && !(running as bigint[]).includes(tx),
    );
    session.write(() => this.#apply(inserts.flatMap(({ steps }) => steps)));
    return inserts.map(({ tx }) => tx);
  }

  #apply(steps: readonly TableStep[]): void {
    const ofHolds = steps.filter(({ kind }) => DEADLINES.has(kind) || ENDS.has(kind) || kind === LEASE);
    const changed = Map.groupBy(
      ofHolds,
      ({ account_id: id, place_seq: place, seq }) => `${id} ${place ?? seq}`,
    );
    for (const [key, own] of changed) {
      const place = own.find(({ kind }) => kind === PLACE);
      const hasEnded = own.some(({ kind }) => ENDS.has(kind));
      const deadline = latest(own.filter(({ kind }) => DEADLINES.has(kind)));
      const lease = latest(own.filter(({ kind }) => kind === LEASE));
      const known = this.#openHolds.get(key);
      if (place !== undefined) {
        if (hasEnded) continue;
        if (known !== undefined) throw new Error(`The open hold ${key} is listed twice.`);
        const { account_id, id, service } = place;
        this.#openHolds.set(key, {
          ...{ account_id, hold_id: id, service: service ?? "" },
          ...{ deadline_at: deadline ?? 0n, leased_until: lease ?? 0n },
        });
      } else if (hasEnded) this.#openHolds.delete(key);
      else if (known !== undefined) {
        this.#openHolds.set(key, {
          ...known,
          deadline_at: greatest(known.deadline_at, deadline),
          leased_until: greatest(known.leased_until, lease),
        });
      }
    }
  }

  overdue([service, now, limit]: readonly unknown[]): object[] {
    const time = BigInt(now as number);
    return [...this.#openHolds.values()]
      .filter((hold) => hold.service === service && hold.deadline_at <= time && hold.leased_until <= time)
      .sort((one, other) =>
        one.deadline_at === other.deadline_at
          ? one.hold_id < other.hold_id
            ? -1
            : 1
          : Number(one.deadline_at - other.deadline_at),
      )
      .slice(0, limit as number)
      .map(({ account_id: accountId, hold_id: holdId }) => ({ accountId, holdId }));
  }

  #visible({ snapshot: { end, running } }: Session) {
    return this.#steps.committed.filter(({ tx }) => tx < end && !running.has(tx));
  }
}

function latest(steps: readonly TableStep[]): bigint | null {
  return steps.reduce<bigint | null>(
    (most, { deadline_at: at }) => (at === null ? most : greatest(at, most)),
    null,
  );
}

function greatest(one: bigint, other: bigint | null): bigint {
  return other !== null && other > one ? other : one;
}
