// Billing as a router sees it, like clients/src/billing.ts: operations that gather while a call is under way leave as
// one; a place is tried once, what must be recorded after dispatch several times; a call may reach any billing process.
import type { BillingProcess } from "./billing-process.ts";
import type { Ledger } from "./ledger.ts";
import type { LeasedHold } from "./ledger-journal.ts";
import type { Operation, Outcome, Service, Settlement } from "./operation.ts";
import type { Call, Caller, Process, Steps } from "./task.ts";
import { FIRST_PAUSE_MS, HOLD_LEASE_MS, SETTLE_ATTEMPTS } from "./timing.ts";
import type { World } from "./world.ts";

interface Waiting {
  readonly operation: Operation;
  readonly call: Call<Outcome>;
}

export class BillingClient {
  readonly #world: World;
  readonly #process: Process;
  readonly #billing: readonly BillingProcess[];
  readonly #ledger: Ledger;
  #queue: Waiting[] = [];
  #running = false;

  constructor(world: World, process: Process, billing: readonly BillingProcess[], ledger: Ledger) {
    this.#world = world;
    this.#process = process;
    this.#billing = billing;
    this.#ledger = ledger;
  }

  /** The process has begun anew. */
  reset(): void {
    this.#queue = [];
    this.#running = false;
  }

  /** One try; to be followed by a `yield`. */
  post(operation: Operation): Call<Outcome> {
    const call = this.#world.promise<Outcome>();
    this.#queue.push({ operation, call });
    if (!this.#running) {
      this.#running = true;
      this.#process.run(this.#drain());
    }
    return call;
  }

  *#drain(): Steps {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      const operations = batch.map(({ operation }) => operation);
      const call = this.#send<readonly Outcome[]>((billing, rpc) => billing.post(operations, rpc));
      yield;
      batch.forEach(({ call: waiting }, index) => {
        waiting.answer(call.reply?.[index]);
      });
    }
    this.#running = false;
  }

  /** @returns the outcome, or undefined when it is not known after all attempts */
  *insist(operation: Operation): Steps<Outcome | undefined> {
    const attempts = this.#world.flaw === "capture not repeated" ? 1 : SETTLE_ATTEMPTS;
    for (let attempt = 1; ; attempt += 1) {
      const call = this.post(operation);
      yield;
      if (call.reply !== undefined || attempt === attempts) return call.reply;
      this.#world.current().sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1));
      yield;
    }
  }

  /** @returns false when somebody else resolves the hold, or has; undefined when it is not known after all attempts */
  *keepAnswer(hold: number, settlement: Settlement): Steps<boolean | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const call = this.#send<boolean>((billing, rpc) =>
        billing.change(undefined, () => this.#ledger.keepAnswer(hold, settlement), rpc),
      );
      yield;
      if (call.reply !== undefined || attempt === SETTLE_ATTEMPTS) return call.reply;
      this.#world.current().sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1));
      yield;
    }
  }

  /** To be followed by a `yield`. */
  readAnswer(account: number, hold: number): Call<"kept" | "over" | "none"> {
    return this.#send((billing, rpc) =>
      billing.change(undefined, () => this.#ledger.readAnswer(account, hold), rpc),
    );
  }

  /** To be followed by a `yield`. */
  lease(service: Service): Call<LeasedHold[]> {
    return this.#send((billing, rpc) =>
      billing.change(undefined, () => this.#ledger.leaseExpired(service, HOLD_LEASE_MS), rpc),
    );
  }

  #send<Reply>(deliver: (billing: BillingProcess, call: Caller<Reply>) => void): Call<Reply> {
    return sendTo(this.#world, this.#billing, deliver);
  }
}

/** Who waits for the reply to a call that was delivered twice. */
const NOBODY: Caller<never> = { over: false, answer: () => undefined };

/** A call to any of the billing processes, over a network that loses, delays and repeats; to be followed by a `yield`. */
export function sendTo<Reply>(
  world: World,
  processes: readonly BillingProcess[],
  deliver: (billing: BillingProcess, call: Caller<Reply>) => void,
): Call<Reply> {
  const call = world.call<Reply>();
  if (world.lost()) return call;
  const copies = world.random.chance(world.weather.duplicateRate) ? 2 : 1;
  if (copies > 1) world.count("calls delivered twice");
  for (let copy = 0; copy < copies; copy += 1) {
    const billing = world.random.pick(processes);
    world.after(world.latency(), () => {
      if (billing.process.up) deliver(billing, copy === 0 ? call : NOBODY);
      // Nobody listens there: the caller hears it at once.
      else if (copies === 1) world.after(1, () => call.answer(undefined));
    });
  }
  return call;
}
