// One seed, one history: a small router with its customers, its weather and its faults, run until it is at rest.

import { checkEnd } from "./books/end-of-history.ts";
import { violated } from "./books/invariants.ts";
import { Ledger } from "./ledger/ledger.ts";
import type { SpenderFields } from "./ledger/operation.ts";
import { StatementJournal } from "./ledger/statement-journal.ts";
import { BillingProcess } from "./system/billing-process.ts";
import { ACTIVE_MS, Customers } from "./system/customers.ts";
import { Gateway } from "./system/gateway.ts";
import { GenerationTable } from "./system/generation-rows.ts";
import type { Request } from "./system/request.ts";
import { Router } from "./system/router.ts";
import type { Surroundings } from "./system/surroundings.ts";
import { Upstream } from "./system/upstream.ts";
import { Coverage } from "./world/coverage.ts";
import type { Process } from "./world/process.ts";
import { CLAIM_LIFETIME_MS, MOST_SKEW_MS } from "./world/timing.ts";
import { World } from "./world/world.ts";

export interface History {
  readonly seed: number;
  readonly error: Error | undefined;
  readonly trace: readonly string[];
}

const PROVIDERS = ["alpha", "beta"] as const;
/** The account of each key. */
const OWNERS = [0, 0, 1] as const;
const ACCOUNTS = 2;
const MUCH_MEMORY_BYTES = 1_000_000;
/** Room for one account. */
const LITTLE_MEMORY_BYTES = 8_000;
/** The faults end a little after the customers. */
const FAULTS_MS = ACTIVE_MS + 10_000;
const MOST_MS = 1_200_000;
/** Moments at which windows begin: of every kind, and of months that end early or late. */
const BOUNDARIES: readonly number[] = [
  Date.UTC(2026, 0, 15),
  Date.UTC(2026, 0, 19),
  Date.UTC(2026, 1, 1),
  Date.UTC(2026, 5, 1),
  Date.UTC(2027, 0, 1),
  Date.UTC(2028, 1, 29),
  Date.UTC(2028, 2, 1),
];

/** @param tracing whether to write down what happens, which costs much time */
export async function runHistory(seed: number, coverage: Coverage, tracing = false): Promise<History> {
  const world = new World(seed, coverage, tracing);
  let error: Error | undefined;
  try {
    await live(world);
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(String(thrown));
  }
  coverage.histories += 1;
  coverage.events += world.events;
  return { seed, error, trace: world.trace };
}

/** Plays a history with all statements that its ledger has received. @throws Violation */
export async function recordHistory(seed: number): Promise<StatementJournal> {
  const journal = new StatementJournal();
  await live(new World(seed, new Coverage(), false), journal);
  return journal;
}

async function live(world: World, journal?: StatementJournal): Promise<void> {
  // In the event loop's own turn, a tick would begin before the microtasks, and the first history of a thread would differ.
  await undefined;
  const { random } = world;
  const boundary = random.pick(BOUNDARIES);
  const near = random.chance(0.7);
  world.now = boundary + (near ? -random.below(ACTIVE_MS) : 9 * 3_600_000);
  const spenders = OWNERS.map((account) => ({ account, fields: randomFields(world) }));
  const gifts = Array.from({ length: ACCOUNTS }, () => BigInt(random.between(1, 90)));
  const ledger = new Ledger(world, gifts, spenders, journal);
  const memory = {
    cacheBytes: random.chance(0.15) ? LITTLE_MEMORY_BYTES : MUCH_MEMORY_BYTES,
    stepsBetweenStates: random.pick([1_000, 8, 20]),
  };
  const namesAccounts = !random.chance(0.15);
  const billing = several(
    world,
    2,
    (name) => new BillingProcess(world, `billing ${name}`, ledger, { ...memory, namesAccounts }),
  );
  ledger.billing = billing.map(({ process }) => process);
  const upstreams = new Map(
    PROVIDERS.map((provider) => {
      const traits = { askable: !random.chance(0.1), mostAtOnce: random.pick([1, 1, 2, 10]) };
      return [provider, new Upstream(world, { provider, ...traits, billed: !random.chance(0.15) })];
    }),
  );
  const table = new GenerationTable(ledger);
  const requests: Request[] = [];
  const surroundings: Surroundings = { world, ledger, upstreams, billing, requests, table, files: new Map() };
  const routers = several(world, 3, (name) => new Router(surroundings, `router ${name}`));
  const gateways = several(world, 3, (name) => new Gateway(surroundings, routers, `gateway ${name}`));
  const customers = new Customers(surroundings, requests, gateways, routers, spenders);
  const processes = [...billing, ...routers, ...gateways].map(({ process }) => process);
  for (const { process } of [...billing, ...routers, ...gateways]) {
    process.skew = random.between(-MOST_SKEW_MS, MOST_SKEW_MS);
  }
  for (const process of processes) process.start();
  customers.begin(random.between(3, 10), random.between(0, 4), near ? boundary : undefined);
  const system = { ...surroundings, routers, processes };
  if (random.chance(0.85)) beginFaults(system);
  if (near && random.chance(0.3)) world.after(boundary - world.now, () => failOver(world));
  if (random.chance(0.08)) world.after(random.below(FAULTS_MS), () => sleepForADay(world, requests));
  await rest(surroundings);
  if (random.chance(0.25)) {
    customers.comeBack();
    if (random.chance(0.5)) beginFaults(system);
    await rest(surroundings);
  }
  checkEnd(surroundings);
  for (const { life } of processes) life?.end();
}

function several<T>({ random }: World, most: number, make: (name: number) => T): T[] {
  return Array.from({ length: random.between(1, most) }, (_, index) => make(index + 1));
}

function randomFields({ random, now }: World): SpenderFields {
  return {
    cap: random.chance(0.3) ? undefined : BigInt(random.between(0, 60)),
    period: random.pick(["lifetime", "day", "day", "week", "month"] as const),
    expiresAt: random.chance(0.1) ? now + random.between(0, 2 * ACTIVE_MS) : undefined,
    active: !random.chance(0.03),
  };
}

/** Until nothing is under way and nothing left open. */
async function rest({ world, ledger, table }: Surroundings): Promise<void> {
  const end = world.now - world.slept + MOST_MS;
  await world.settle();
  while (world.essential > 0 || ledger.open.size > 0 || table.unbooked > 0) {
    if (!world.step() || world.now - world.slept > end) {
      throw violated("I9", `no rest: ${ledger.open.size} holds open, ${table.unbooked} rows unbooked`);
    }
    const settling = world.settle();
    if (settling !== undefined) await settling;
  }
}

/** About as long as a claim lasts: the machine is put to sleep in the midst of its work, and the upstream with it. */
function sleepForADay(world: World, requests: readonly Request[]): void {
  world.count("days slept");
  for (const request of requests) request.paused = true;
  world.sleep(CLAIM_LIFETIME_MS + world.random.between(-FAULTS_MS, 5_000));
}

interface System extends Surroundings {
  readonly routers: readonly Router[];
  readonly processes: readonly Process[];
}

function beginFaults({ world, upstreams, billing, routers, processes }: System): void {
  const { random, weather } = world;
  weather.lossRate = random.pick([0, 0.01, 0.05]);
  weather.slowRate = random.pick([0, 0.01, 0.05]);
  weather.duplicateRate = random.pick([0, 0.03]);
  weather.lateCommitRate = random.pick([0, 0, 0.02]);
  for (const upstream of upstreams.values()) upstream.silence = random.pick([0, 0, 0.3]);
  for (const process of processes) process.crashRate = random.pick([0, 0, 0.01, 0.03]);
  const sometime = (probability: number, fault: () => void) => {
    if (random.chance(probability)) world.after(random.below(FAULTS_MS), fault);
  };
  for (const { process } of routers) process.pauseRate = random.pick([0, 0, 0.006]);
  for (const { process } of billing) process.pauseRate = random.pick([0, 0, 0, 0.003]);
  sometime(0.3, () => {
    world.count("PostgreSQL away");
    world.postgresAwayUntil = world.now + random.between(100, 4_000);
  });
  sometime(0.1, () => failOver(world));
  for (const { process } of billing) {
    sometime(0.1, () => {
      world.count("clocks of billing set");
      process.skew = random.between(-MOST_SKEW_MS, MOST_SKEW_MS);
      if (world.tracing) world.note(`the clock of ${process.name} is set`);
    });
  }
  world.after(FAULTS_MS, () => {
    Object.assign(weather, { lossRate: 0, slowRate: 0, duplicateRate: 0, lateCommitRate: 0 });
    for (const process of processes) {
      process.crashRate = 0;
      process.pauseRate = 0;
    }
    for (const upstream of upstreams.values()) upstream.silence = 0;
    world.postgresLag = 0;
    if (world.tracing) world.note("no faults from here on");
  });
}

/** Soon after now, PostgreSQL goes on elsewhere, where it is earlier. */
function failOver(world: World): void {
  const { random } = world;
  const later = random.below(MOST_SKEW_MS);
  world.after(later, () => {
    world.count("clock of PostgreSQL set back");
    world.postgresLag = random.between(Math.min(later, MOST_SKEW_MS - 1), MOST_SKEW_MS);
    if (world.tracing) world.note(`PostgreSQL fails over to a clock ${world.postgresLag} ms behind`);
  });
}
