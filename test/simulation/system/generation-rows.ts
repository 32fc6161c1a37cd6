// The table of generations in PostgreSQL, which all processes share, and the stores of one of them, as the SQL of
// services/media-generation keeps it: a row belongs to its worker, and to whoever takes it once its lease has run out.
import {
  BLOCKED,
  callerError,
  type Generation,
  type GenerationStore,
  LEFT,
  type LogEntry,
  type LogStore,
  REFUSED,
  type State,
} from "@gr/media-generation/simulated";
import { present } from "../books/audit.ts";
import { numberOf } from "../ledger/ids.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { runStatement } from "../ledger/postgres.ts";
import type { Life } from "../world/process.ts";

interface Row
  extends Omit<
    Generation,
    "order" | "route" | "state" | "operations" | "unbilledLookUps" | "deleted" | "ended"
  > {
  order: Generation["order"];
  route: Generation["route"];
  state: State;
  operations: Generation["operations"];
  unbilledLookUps: number;
  deleted: boolean;
  /** Why its caller was told that it is free. */
  told: string | undefined;
  ended: Generation["ended"];
  worker: Life;
  /** When it may be taken, if its worker does not renew it; by PostgreSQL's clock. */
  dueAt: number;
  booked: boolean;
}

export class GenerationTable {
  readonly rows = new Map<number, Row>();
  readonly #ledger: Ledger;
  readonly #unbooked = new Set<Row>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get unbooked(): number {
    return this.#unbooked.size;
  }

  anyDue(): boolean {
    for (const { dueAt } of this.#unbooked) if (dueAt <= this.#ledger.time) return true;
    return false;
  }

  /** @param passed told of each row that its process wanted to change, and another one has */
  storeOf(life: Life, passed: () => void): GenerationStore {
    const run = <Reply>(statement: () => Reply) => runStatement(life, statement);
    const open = (id: string) => {
      const row = present(this.rows.get(numberOf(id)));
      if (row.worker === life && row.ended === null) return row;
      passed();
      return undefined;
    };
    const change = (id: string, to: (row: Row) => void) =>
      run(() => {
        const row = open(id);
        if (row !== undefined) to(row);
        return row !== undefined;
      });
    const due = (ms: number) => this.#ledger.time + ms;
    return {
      insert: (order, route, leaseMs) =>
        run(() => {
          const number = numberOf(order.id);
          if (this.rows.has(number)) return false;
          const row: Row = {
            order,
            route,
            state: "running",
            operations: null,
            unbilledLookUps: 0,
            tokens: undefined,
            deleted: false,
            told: undefined,
            ended: null,
            worker: life,
            dueAt: due(leaseMs),
            booked: false,
          };
          this.rows.set(number, row);
          this.#unbooked.add(row);
          return true;
        }),
      reroute: (id, route) => change(id, (row) => Object.assign(row, { route, operations: null })),
      renew: (ids, leaseMs) =>
        run(() => ({
          passed: ids.filter((id) => {
            const row = this.rows.get(numberOf(id));
            if (row === undefined) return false;
            if (row.worker === life && !row.booked) row.dueAt = due(leaseMs);
            return row.worker !== life;
          }),
          cancelled: ids.filter((id) => {
            const row = this.rows.get(numberOf(id));
            return row?.worker === life && row.deleted && row.ended === null;
          }),
        })),
      saveOperations: (id, operations) => change(id, (row) => Object.assign(row, { operations })),
      markUnknown: (id, why, message) =>
        run(() => {
          const row = open(id);
          if (row === undefined) return undefined;
          row.state = "unknown";
          row.dueAt = due(0);
          if (why !== LEFT) {
            row.operations = null;
            row.told ??= callerError(why, message).reason;
          }
          return row.operations !== null;
        }),
      finish: ({ id }, ending, finishedAt, made) =>
        run(() => {
          const row = open(id);
          if (row === undefined) return undefined;
          if (made !== undefined) row.order = { ...row.order, outputs: made.outputs };
          row.ended = { ending, finishedAt };
          if (ending.kind === "captured") row.state = "succeeded";
          else {
            const { why, message } = ending;
            row.state = why === BLOCKED ? "blocked" : "failed";
            row.told ??= callerError(why, message).reason;
          }
          return { deleted: row.deleted };
        }),
      markBooked: (id) =>
        run(() => {
          const row = this.rows.get(numberOf(id));
          if (row !== undefined && row.ended !== null) this.#book(row);
        }),
      markRefused: (id) =>
        run(() => {
          const row = this.rows.get(numberOf(id));
          if (row?.state !== "succeeded" || row.booked) return [];
          row.state = "failed";
          row.told ??= callerError(REFUSED, "").reason;
          this.#book(row);
          return row.order.outputs;
        }),
      postpone: (id, waitMs, unbilled) =>
        run(() => {
          const row = present(this.rows.get(numberOf(id)));
          if (row.worker !== life || row.booked) return;
          row.dueAt = due(waitMs);
          if (unbilled) row.unbilledLookUps += 1;
        }),
      claimDue: (limit, leaseMs, except) =>
        run(() => {
          const time = this.#ledger.time;
          const ready = [...this.#unbooked].filter(
            ({ dueAt, order }) => dueAt <= time && !except.includes(order.id),
          );
          return ready.slice(0, limit).map((row) => {
            row.worker = life;
            row.dueAt = due(leaseMs);
            return { ...row };
          });
        }),
      find: (id) =>
        run(() => {
          const row = this.rows.get(numberOf(id));
          return row && { ...row };
        }),
      ping: async () => undefined,
    };
  }

  /** The log as callers see it. */
  logOf(life: Life): Pick<LogStore, "find" | "removeContent"> {
    return {
      find: ({ accountId, keyId }, id) =>
        runStatement(life, () => {
          const row = this.rows.get(numberOf(id));
          const theirs = row?.order.accountId === accountId && row.order.keyId === keyId;
          return theirs ? entryOf(row) : undefined;
        }),
      removeContent: ({ id }) =>
        runStatement(life, () => {
          const row = present(this.rows.get(numberOf(id)));
          const ended = row.ended !== null || row.told !== undefined;
          if (!ended && !row.order.asynchronous) return undefined;
          row.deleted = true;
          return ended ? "ended" : "running";
        }),
    };
  }

  #book(row: Row): void {
    row.booked = true;
    this.#unbooked.delete(row);
  }
}

function entryOf(row: Row): LogEntry {
  const { order, ended, deleted } = row;
  const { id, accountId, keyId, kind, model, request, outputs, createdAt } = order;
  const status = statusOf(row);
  const charge = ended?.ending.kind === "captured" ? ended.ending.bill.charge : 0n;
  return {
    id,
    accountId,
    keyId,
    kind,
    model,
    status,
    request,
    outputs,
    previews: [],
    error: undefined,
    isAccepted: false,
    progress: undefined,
    provider: row.route.provider,
    attempts: order.attempts,
    priceVersion: order.priceVersion,
    price: order.price,
    charge: status === "running" ? undefined : charge,
    createdAt,
    finishedAt: ended?.finishedAt,
    deleted,
    expired: false,
  };
}

function statusOf({ state, booked, told }: Row): LogEntry["status"] {
  if (state === "succeeded") return booked ? "succeeded" : "running";
  if (state === "running" || (state === "unknown" && told === undefined)) return "running";
  if (state === "blocked") return "blocked";
  return told === "generation_cancelled" ? "cancelled" : "failed";
}
