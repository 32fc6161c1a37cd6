// One process of the billing service: its real one, with its writer and its mirror, over stores that the history keeps. What
// it has not committed dies with it; what it has committed stays, also when nobody hears of it.
import { create, type DescMethodUnary } from "@bufbuild/protobuf";
import {
  billingRpc,
  forgettingAccounts,
  forgettingAdjustments,
  LedgerWriter,
  MirroredWriter,
  type SpendMirror,
} from "@gr/billing/simulated";
import { ServiceError } from "@gr/proto";
import { BillingService } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";
import { BillingStores, type BillingTables } from "../ledger/billing-stores.ts";
import { answerLater, type Caller, callAny } from "../world/network.ts";
import { type Life, Process } from "../world/process.ts";
import type { World } from "../world/world.ts";

/** A message before it is made. */
type Init = Record<string, unknown>;
type Handler = (request: object, context: { readonly signal: AbortSignal }) => Promise<Init>;
type Handlers = Readonly<Record<string, Handler>>;

/** More spenders than a history has. */
const MOST_SUSPECTS = 20;
const NOTHING = () => undefined;

export class BillingProcess {
  readonly process: Process;
  readonly #world: World;
  #handlers: Handlers = {};

  constructor(world: World, name: string, tables: BillingTables, mirrorOf: (life: Life) => SpendMirror) {
    this.#world = world;
    const begin = (life: Life) => {
      this.#handlers = handlersOf(life, tables, mirrorOf(life));
    };
    this.process = new Process(world, name, begin, () => world.count("crashes of billing"));
  }

  take({ localName, input, output }: DescMethodUnary, request: Init, caller: Caller<object>): void {
    const { life } = this.process;
    const handle = this.#handlers[localName];
    if (handle === undefined) throw new Error(`billing does not have ${localName}`);
    const world = this.#world;
    // The news that a caller has given up may be late itself.
    const signal = {
      get aborted() {
        return caller.over && world.random.chance(0.5);
      },
    } as AbortSignal;
    life?.reach(() => {
      life.run(async () => {
        try {
          const reply = await handle(create(input, request), { signal });
          answerLater(world, () => caller.settle(create(output, reply)));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          answerLater(world, () => caller.fail(error));
        }
      });
    });
  }
}

function handlersOf(life: Life, tables: BillingTables, mirror: SpendMirror): Handlers {
  const { world } = life;
  const stores = new BillingStores(life, tables);
  const events = {
    committed: NOTHING,
    triedAgain: NOTHING,
    refusedByMirror: NOTHING,
    notMirrored: NOTHING,
    ledgerVerified: NOTHING,
    creditsUnreadable: NOTHING,
    mayForget: NOTHING,
    holdsSeen: NOTHING,
  };
  const writer = new MirroredWriter({
    writer: new LedgerWriter({ post: stores.post }, events),
    mirror,
    readNumbers: stores.readNumbers,
    events,
    stopwatch: { now: () => world.now },
    mostSuspects: MOST_SUSPECTS,
  });
  const { impl } = billingRpc({
    writer,
    accounts: forgettingAccounts(stores.accounts, mirror),
    adjustments: forgettingAdjustments(stores.adjustments, mirror),
    answers: stores.answers,
    judgeClaim: stores.judgeClaim,
    checkSpender: () => Promise.reject(new Error("bodies are small here")),
    holds: stores.holds,
    verify: () => Promise.reject(new Error("nobody verifies here")),
    events,
  });
  return impl as unknown as Handlers;
}

/** Billing as another process reaches it: any of its processes takes a call. */
export function billingClient(
  life: Life,
  processes: readonly BillingProcess[],
): ServiceClient<typeof BillingService> {
  const methods = BillingService.methods.map((method) => {
    const call = (request: Init) =>
      callAny<BillingProcess, object>(life, processes, (billing, caller) =>
        billing.take(method as DescMethodUnary, request, caller),
      );
    return [method.localName, call] as const;
  });
  return Object.fromEntries(methods) as unknown as ServiceClient<typeof BillingService>;
}
