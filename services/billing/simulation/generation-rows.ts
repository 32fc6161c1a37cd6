// The table of generations in PostgreSQL, as services/media-generation/src/store.ts keeps it: a row belongs to its
// worker, and to whoever takes it once its lease has run out. It is ended once, by who owns it.
import { present } from "./audit.ts";
import type { Request } from "./request.ts";
import type { Router } from "./router.ts";
import type { Call } from "./task.ts";
import { ROW_LEASE_MS } from "./timing.ts";
import type { World } from "./world.ts";

export interface Ending {
  readonly state: "succeeded" | "failed" | "unresolved";
  readonly charge: bigint;
  readonly cost: bigint;
}

export interface Row {
  readonly request: Request;
  readonly hold: number;
  readonly deadlineAt: number;
  owner: Router;
  life: number;
  /** When it may be taken, if its owner does not renew it. */
  dueAt: number;
  /** A job of it waits at the provider. */
  queued: boolean;
  /** Its outcome is to be looked up. */
  unknown: boolean;
  unbilledLookUps: number;
  ending: Ending | undefined;
  settled: boolean;
}

export class GenerationRows {
  readonly rows = new Map<number, Row>();
  readonly #world: World;
  readonly #unsettled = new Set<Row>();

  constructor(world: World) {
    this.#world = world;
  }

  get unsettled(): number {
    return this.#unsettled.size;
  }

  /** One statement; to be followed by a `yield`. Undefined when it is not known whether it was carried out. */
  run<Reply>(statement: () => Reply): Call<Reply> {
    const world = this.#world;
    const call = world.call<Reply>();
    if (world.postgresAwayUntil > world.now || world.lost()) {
      world.after(1, () => call.answer(undefined));
      return call;
    }
    world.after(world.random.between(1, 3), () => {
      const reply = statement();
      const unheard = world.lost();
      world.after(1, () => call.answer(unheard ? undefined : reply));
    });
    return call;
  }

  insert(request: Request, deadlineAt: number, owner: Router): true {
    const { hold } = request;
    const { life } = owner.process;
    const dueAt = this.#world.now + ROW_LEASE_MS;
    const row = {
      request,
      hold,
      deadlineAt,
      owner,
      life,
      dueAt,
      queued: false,
      unknown: false,
      unbilledLookUps: 0,
      ending: undefined,
      settled: false,
    };
    this.rows.set(hold, row);
    this.#unsettled.add(row);
    return true;
  }

  /** @returns false when the row has passed to another process, or was ended */
  finish(hold: number, by: Router, ending: Ending): boolean {
    const row = present(this.rows.get(hold));
    const anybody = this.#world.flaw === "row ended by anybody";
    if (!anybody && !this.#change(row, by, row.ending === undefined)) return false;
    row.ending = ending;
    return true;
  }

  /** @returns as finish; also false is no reason to stop: whoever ends the row decides */
  saveOperation(hold: number, by: Router): boolean {
    const row = present(this.rows.get(hold));
    if (!this.#change(row, by, row.ending === undefined)) return false;
    row.queued = true;
    return true;
  }

  /** Its outcome is to be looked up. @param outOfTime also when its job could be followed: its client was told that it failed */
  markUnknown(hold: number, by: Router, outOfTime: boolean): boolean {
    const row = present(this.rows.get(hold));
    if (!this.#change(row, by, row.ending === undefined)) return false;
    row.unknown = true;
    if (outOfTime && this.#world.flaw !== "job goes on out of time") row.queued = false;
    row.dueAt = this.#world.now;
    return true;
  }

  postpone(hold: number, by: Router, ms: number, unbilled: boolean): boolean {
    const row = present(this.rows.get(hold));
    if (!this.#change(row, by, true)) return false;
    row.dueAt = this.#world.now + ms;
    if (unbilled) row.unbilledLookUps += 1;
    return true;
  }

  #change(row: Row, by: Router, open: boolean): boolean {
    if (row.owner === by && row.life === by.process.life && open) return true;
    this.#world.count("rows that had passed to another");
    return false;
  }

  markSettled(hold: number): true {
    const row = present(this.rows.get(hold));
    row.settled = true;
    this.#unsettled.delete(row);
    return true;
  }

  anyDue(): boolean {
    for (const row of this.#unsettled) if (this.#isDue(row)) return true;
    return false;
  }

  /** Rows that are due, but for those that this process works on; they are its own for a lease. */
  takeDue(by: Router): Row[] {
    const taken: Row[] = [];
    for (const row of this.#unsettled) {
      if (!this.#isDue(row) || by.leased.has(row.hold)) continue;
      row.owner = by;
      row.life = by.process.life;
      row.dueAt = this.#world.now + ROW_LEASE_MS;
      taken.push({ ...row });
    }
    return taken;
  }

  /** A process renews its rows as long as it lives and does not stand still. */
  #isDue({ hold, owner, life, dueAt }: Row): boolean {
    const { now } = this.#world;
    const { process } = owner;
    if (dueAt > now) return false;
    if (process.life !== life || !owner.leased.has(hold)) return true;
    return !process.responsive && process.lastSeen + ROW_LEASE_MS <= now;
  }
}
