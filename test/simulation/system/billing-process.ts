// One process of the billing service: its real one, over tables that the history keeps. Uncommitted work
// dies with it; committed work stays, also if its answer is lost.
import { create, type DescMethodUnary } from "@bufbuild/protobuf";
import { billingRpc, type ChainOptions, createStepLedger, UsedUpBudgets } from "@gr/billing/simulated";
import { ServiceError } from "@gr/proto";
import { BillingService, type DepositStatus } from "@gr/proto/billing";
import type { Logger, ServiceClient } from "@gr/runtime";
import { checkReport } from "../books/invariants.ts";
import { numberOf } from "../ledger/ids.ts";
import { FREE_LIMIT, type Ledger } from "../ledger/ledger.ts";
import { poolOf } from "../ledger/session.ts";
import { WriterWatch } from "../ledger/writer-watch.ts";
import { answerLater, type Caller, callAny } from "../world/network.ts";
import { type Life, Process } from "../world/process.ts";
import type { World } from "../world/world.ts";

/** A message before it is made. */
type Init = Record<string, unknown>;
type Handler = (request: object, context: { readonly signal: AbortSignal }) => Promise<Init>;
type Handlers = Readonly<Record<string, Handler>>;

/** Bounds of the memory of a process, and its callers. */
interface Traits extends Pick<ChainOptions, "cacheBytes" | "stepsBetweenStates"> {
  /** Callers name the account of each operation; those of the version before name it in places only. */
  readonly namesAccounts: boolean;
}

const NOTHING = () => undefined;
const SILENT = { warn: NOTHING } as unknown as Logger;
/** As long as PostgreSQL may be away: callers try again beyond it. */
const LONGEST_PAUSE_MS = 4_000;
/** Most that a writer waits before it decides again. */
const MOST_PAUSE_MS = 10;

export class BillingProcess {
  readonly process: Process;
  readonly #world: World;
  #handlers: Handlers = {};

  constructor(world: World, name: string, ledger: Ledger, traits: Traits) {
    this.#world = world;
    const begin = (life: Life) => {
      this.#handlers = handlersOf(life, ledger, traits);
    };
    this.process = new Process(
      world,
      name,
      begin,
      () => world.count("crashes of billing"),
      () => world.count("pauses of billing"),
    );
    this.process.longestPauseMs = LONGEST_PAUSE_MS;
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

function handlersOf(life: Life, ledger: Ledger, { namesAccounts, ...memory }: Traits): Handlers {
  const { world } = life;
  const { database } = ledger;
  const watch = new WriterWatch(life, database, ledger);
  const stopwatch = { now: () => world.now };
  const steps = createStepLedger({
    pool: poolOf(life, database),
    clock: life,
    freeLimit: FREE_LIMIT,
    log: SILENT,
    events: { committed: NOTHING, triedAgain: NOTHING, refusedFromMemory: () => watch.refuseFromMemory() },
    connect: (options) => watch.connect({ ...options, ...memory }),
    copies: new UsedUpBudgets({ clock: life, stopwatch }),
    stopwatch,
    wait: () => life.sleep(world.random.between(1, MOST_PAUSE_MS)),
  });
  const { impl } = billingRpc({ ...steps, events: { ledgerVerified: NOTHING } });
  const handlers = impl as unknown as Handlers;
  return {
    ...handlers,
    ...(namesAccounts
      ? {}
      : { post: unnamed(handlers["post"]), keepAnswer: unnamed(handlers["keepAnswer"]) }),
    putDeposit: reported(handlers["putDeposit"], ledger, world),
  };
}

/** Calls as the version before sends them. */
function unnamed(handle: Handler | undefined): Handler {
  return async (request, context) => {
    const { operations = [] } = request as { operations?: { operation: { case: string; value: object } }[] };
    for (const { operation } of operations) {
      if (operation.case !== "place") Object.assign(operation.value, { accountId: "" });
    }
    if (operations.length === 0) Object.assign(request, { accountId: "" });
    return (await handle?.(request, context)) ?? {};
  };
}

/** An answered report of a payment is in the books. */
function reported(handle: Handler | undefined, { audit }: Ledger, world: World): Handler {
  return async (request, context) => {
    const { depositId, status } = request as { depositId: string; status: DepositStatus };
    const id = numberOf(depositId);
    if (audit.reported(id, status)) world.count("deposits repeated");
    const reply = await handle?.(request, context);
    try {
      checkReport(audit, id, status);
    } catch (error) {
      throw world.fail(error);
    }
    return reply ?? {};
  };
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
