// Mutants of the append-only ledger: of its table, of the writer that keeps accounts in memory, of the followers and the reads.
import type { Mutant } from "./mutant.ts";

const TABLES = "services/billing/migrations/0012-steps.sql";
const CARRY = "services/billing/migrations/0014-carry-the-accounts.sql";
const CHAIN = "services/billing/src/chain";
const CONNECTION = `${CHAIN}/chain-connection.ts`;
const STATES = `${CHAIN}/state-store.ts`;
const TEST = `${CHAIN}/chain-connection.test.ts`;
const FOLLOWER = "services/billing/src/follower";
const READS = "services/billing/src/reads";
const FOLLOWER_TEST = `${FOLLOWER}/follower.test.ts`;
const RESTORE_TEST = `${FOLLOWER}/restored-dump.test.ts`;
const LYING_REDIS = "services/billing/src/windows-copy/lying-redis.test.ts";
const RANGES = `${FOLLOWER}/step-range.test.ts`;
const READ_TEST = `${READS}/reads.test.ts`;

export const MUTANTS_OF_CHAIN: readonly Mutant[] = [
  {
    file: TABLES,
    find: "  PRIMARY KEY (bucket, account_id, seq),\n",
    replace: "",
    what: "two writers both store the next step of an account",
    caught: { test: TEST, name: "two writers of one account" },
  },
  {
    file: TABLES,
    find: "CREATE UNIQUE INDEX step_beginning",
    replace: "CREATE INDEX step_beginning",
    what: "a repeated deposit counts again after a restart",
    caught: { test: TEST, name: "an id begins once" },
  },
  {
    file: CONNECTION,
    find: "    await findClaims(client, new Map(works.map((work) => [work, work.unreadKeys()])));\n    for",
    replace: "    for",
    what: "a writer decides about a key without its owner",
    caught: { test: TEST, name: "a used key is answered" },
  },
  {
    file: CARRY,
    find: "(kind = 5 AND charge <= -credits)",
    replace: "(kind = 5)",
    what: "the table takes a charge above its hold",
    caught: { test: TEST, name: "a row that is wrong alone" },
  },
  {
    file: CARRY,
    find: " AND ((place_seq IS NULL) = (kind <= 2 OR kind >= 11) OR (kind = 8 AND place_seq IS NULL))",
    replace: "",
    what: "the table takes an end without a place",
    caught: { test: TEST, name: "a row that is wrong alone" },
  },
  {
    file: CONNECTION,
    find: "    for (const work of works) work.undo();\n    await catchUp(",
    replace: "    await catchUp(",
    what: "memory keeps the steps of a lost race",
    caught: { test: TEST, name: "two writers of one account" },
  },
  {
    file: CONNECTION,
    find: "        this.#cache.delete(accountId);\n",
    replace: "",
    what: "memory survives a flush that failed",
    caught: { test: "services/billing/src/writer/server-trouble.test.ts", name: "a full disk fails a batch" },
  },
  {
    file: CONNECTION,
    find: "    this.#cache.clear();\n",
    replace: "",
    what: "memory survives the connection to another server",
    caught: { test: TEST, name: "a writer on a new connection" },
  },
  {
    file: CONNECTION,
    find: "return new Set(works.filter(({ cached }) => !changed.has(cached)));",
    replace: "return new Set(works);",
    what: "a customer is refused for a balance that another process has raised",
    caught: { histories: 3_000 },
  },
  {
    file: `${CHAIN}/account-work.ts`,
    find: "now - this.cached.confirmed.stopwatch < CONFIRMED_FOR_MS && ",
    replace: "",
    what: "a customer who has paid in another process is refused for ever",
    caught: { histories: 3_000 },
  },
  {
    file: `${CHAIN}/account-work.ts`,
    find: " && this.#areNew()",
    replace: "",
    what: "a repeated place is refused by old memory",
    caught: { test: TEST, name: "is read at once if one of them may be a repeat" },
  },
  {
    file: CONNECTION,
    find: "    await findClaims(client, new Map(works.map((work) => [work, work.unreadKeys()])));\n",
    replace: "",
    what: "a repeated request with a used key is refused for its money",
    caught: { test: TEST, name: "answered before the money" },
  },
  {
    file: CONNECTION,
    find: "    try {\n      await writeFlush(",
    replace:
      "    for (const { cached } of works) if (isStateDue(cached)) await storeState(client, cached);\n    try {\n      await writeFlush(",
    what: "a state is stored before its steps",
    caught: { test: TEST, name: "a state never has steps" },
  },
  {
    file: STATES,
    find: "open_holds = excluded.open_holds\n  WHERE known.seq < excluded.seq",
    replace: "open_holds = excluded.open_holds",
    what: "an older state of an account replaces a newer one",
    caught: { test: TEST, name: "an older one never replaces" },
  },
  {
    file: STATES,
    find: "content = excluded.content\n  WHERE known.seq < excluded.seq",
    replace: "content = excluded.content",
    what: "an older state of a budget replaces a newer one",
    caught: { test: TEST, name: "an older one never replaces" },
  },
  {
    file: CONNECTION,
    find: "    await findBeginnings(client, works);\n",
    replace: "",
    what: "a deposit that another process has stored is repeated until nobody waits for it",
    caught: { test: TEST, name: "an id begins once" },
  },
  {
    file: `${CHAIN}/step-row.ts`,
    find: "    credits: row.credits,\n",
    replace: "    credits: row.charge,\n",
    what: "a step that another process has stored changes a hold by another amount",
    caught: { histories: 500 },
  },
  {
    file: `${CHAIN}/state-text.ts`,
    find: "return { ...budget, totals: new Map(totals) };",
    replace: "return { ...budget, totals: new Map(totals.slice(0, 0)) };",
    what: "a cold start from a state does not know what a key has used",
    caught: { histories: 3_000 },
  },
  {
    file: "services/billing/src/step-ledger/step-accounts.ts",
    find: "          await storeReport(client, deposit, now());\n          if (kind === null) return;\n",
    replace: "          await storeReport(client, deposit, now());\n          return;\n",
    what: "a reported payment is answered and does not count",
    caught: { histories: 500 },
  },
  {
    file: "services/billing/src/step-ledger/owner-store.ts",
    find: 'steps.some(({ kind }) => kind === "refund") ? "REFUNDED" : "COMPLETED"',
    replace: '"REFUNDED"',
    what: "a payment that counts is taken for a refunded one",
    caught: { histories: 3_000 },
  },
  {
    file: "services/billing/src/writer/one-connection.ts",
    find: "      if (isConnectionError(error)) this.drop(client, error);\n",
    replace: "",
    what: "a broken connection is used for ever",
    caught: { histories: 2_000 },
  },
  {
    file: `${CHAIN}/cached-account.ts`,
    find: "  for (const { budget } of step.budgets) changed.add(budget);\n",
    replace: "",
    what: "a cold start does not know what a budget has spent",
    caught: { test: TEST, name: "an older one never replaces" },
  },
  {
    file: `${CHAIN}/step-store.ts`,
    find: '  add(await readSteps(client, "late_costs", LATE_COSTS, values));\n',
    replace: "",
    what: "a late bill is booked again if its hold is forgotten",
    caught: { test: TEST, name: "holds that it has forgotten" },
  },
  {
    file: `${CHAIN}/chain-operation.ts`,
    find: "      begun.clear();\n",
    replace: "      return runs;\n",
    what: "operations behind a repeated deposit are not done",
    caught: { test: TEST, name: "an id begins once" },
  },
  {
    file: `${CHAIN}/encode-steps.ts`,
    find: "  writeAmount(target, step.cost, of(credits + 2));\n",
    replace: "",
    what: "a step books the cost of an earlier one",
    caught: { test: `${CHAIN}/step-encoding.test.ts` },
  },

  // Behind the ledger: each step is applied once, and a client reads its own writes.
  {
    file: `${FOLLOWER}/cursor-store.ts`,
    find: " OR s.tx = ANY ($4::bigint[]))",
    replace: " AND $4::bigint[] IS NOT NULL)",
    what: "a charge that commits late is never in the sums",
    caught: { test: FOLLOWER_TEST, name: "stays open are applied after its commit" },
  },
  {
    file: `${FOLLOWER}/follower.ts`,
    find: "        if (await hasLateSteps(client, position)) return true;\n",
    replace: "",
    what: "a charge that commits late waits for the next one",
    caught: { test: FOLLOWER_TEST, name: "stays open are applied after its commit" },
  },
  {
    file: `${FOLLOWER}/follower.ts`,
    find: "      await movePosition(client, reader.name, position, range.next);\n",
    replace: "      await movePosition(client, reader.name, position, seen);\n",
    what: "each round counts the same charges again",
    caught: { test: FOLLOWER_TEST, name: "are in sums and in the list of open holds" },
  },
  {
    file: `${FOLLOWER}/follower.ts`,
    find: "    if (pausedFor > 0) await wait(pausedFor);\n",
    replace: "    if (pausedFor < 0) await wait(0);\n",
    what: "readers of sums keep PostgreSQL busy with rounds",
    caught: { test: FOLLOWER_TEST, name: "callers cannot cause rounds" },
  },
  {
    file: `${FOLLOWER}/follower.ts`,
    find: "    await forgetTransactions(patient, buckets, now.end);\n",
    replace: "",
    what: "charges of before a restore count twice",
    caught: { test: RESTORE_TEST, name: "after a restore from a dump" },
  },
  {
    file: `${FOLLOWER}/follower.ts`,
    find: "    await reader.clear(patient, buckets);\n",
    replace: "",
    what: "a restore counts the restored sums again",
    caught: { test: RESTORE_TEST, name: "after a restore from a dump" },
  },
  {
    file: `${FOLLOWER}/step-range.ts`,
    find: "  return seen.end > now.end;",
    replace: "  return seen.end < 0n && now.end > 0n;",
    what: "charges of after a restore are in no sum",
    caught: { test: RANGES },
  },
  {
    file: `${FOLLOWER}/step-range.ts`,
    find: "  if (slice > now.start)",
    replace: "  if (slice > now.end)",
    what: "a slice ends among running transactions, and loses their charges",
    caught: { test: RANGES },
  },
  {
    file: `${FOLLOWER}/open-hold-store.ts`,
    find: "AND c.has_ended AND NOT c.is_new",
    replace: "AND c.has_ended AND c.is_new",
    what: "an ended hold is offered to resolvers for ever",
    caught: { test: FOLLOWER_TEST, name: "are in sums and in the list of open holds" },
  },
  {
    file: `${FOLLOWER}/sums-store.ts`,
    find: "FROM r WHERE r.kind = 5 GROUP",
    replace: "FROM r WHERE r.kind IN (5, 6) AND r.billed_by IS NOT NULL GROUP",
    what: "failed requests are in the usage of a customer",
    caught: { test: FOLLOWER_TEST, name: "are in sums and in the list of open holds" },
  },
  {
    file: `${READS}/account-reader.ts`,
    find: "    for (const { account } of await catchUpOrLose(client, [...known.values()])) known.delete(account.id);\n",
    replace: "",
    what: "a client does not read its own writes",
    caught: { test: READ_TEST, name: "include each answered step" },
  },
  {
    file: "packages/ledger/src/judge/budget-use.ts",
    find: "isNew ? undefined : budget.totals",
    replace: "false ? undefined : budget.totals",
    what: "a key shows the usage of yesterday as that of today",
    caught: { test: READ_TEST, name: "have an empty window on the next day" },
  },
  {
    file: `${READS}/hold-reads.ts`,
    find: 'outcomes[index]?.code === "done"',
    replace: "outcomes[index] !== undefined",
    what: "two resolvers have the same hold",
    caught: { test: READ_TEST, name: "are each leased to one of many processes" },
  },
  {
    file: "services/billing/src/windows-copy/copy-text.ts",
    find: "    if (signature !== this.#sign(name, content)) return undefined;\n",
    replace: "",
    what: "a copy with numbers that no process has written refuses a customer with money",
    caught: { test: LYING_REDIS, name: "Redis is another limit" },
  },
  {
    file: "services/billing/src/windows-copy/used-up-budgets.ts",
    find: "if (isLatest(account, latest.get(account.id)))",
    replace: "if (latest.has(account.id))",
    what: "a stale copy refuses a customer who has paid",
    caught: { test: LYING_REDIS, name: "Redis is stale" },
  },
  {
    file: "services/billing/src/windows-copy/used-up-budgets.ts",
    find: "const isHopeless = work.decide(terms).length === 0 && work.isHopeless();",
    replace: "const isHopeless = work.decide(terms).length === 0;",
    what: "a copy answers a place that it would admit",
    caught: { test: LYING_REDIS, name: "a used-up window that has ended" },
  },
  {
    file: "services/billing/src/windows-copy/redis-copies.ts",
    find: "  if seq <= tonumber(ARGV[at + 1]) or",
    replace: "  if true or",
    what: "a copy of an earlier step replaces one of a later step",
    caught: {
      test: "services/billing/src/windows-copy/redis-copies.test.ts",
      name: "an earlier one never replaces it",
    },
  },
  {
    file: CONNECTION,
    find: "    await clockCheck?.requireRightClock(client);\n",
    replace: "",
    what: "a process with a clock a month ahead opens the windows of all budgets",
    caught: { test: "services/billing/src/writer/clock-check-store.test.ts", name: "a clock a month ahead" },
  },
  {
    file: CONNECTION,
    find: "        cached.storedSeq = cached.account.seq;\n      }\n      this.#due.delete(id);",
    replace: "        return;\n      }\n      this.#due.delete(id);",
    what: "a state that PostgreSQL refuses keeps all later ones away",
    caught: { test: TEST, name: "a state that PostgreSQL refuses" },
  },
  {
    file: "services/billing/src/step-ledger/step-accounts.ts",
    find: '          await lockCredit(client, id);\n          const known = (await creditSteps(client, id)).find(({ kind }) => kind === "adjustment");\n',
    replace:
      '          const known = (await creditSteps(client, id)).find(({ kind }) => kind === "adjustment");\n',
    what: "two processes book one adjustment in two accounts",
    caught: {
      test: "services/billing/src/accounts/accounts.test.ts",
      name: "of one id for two accounts in two processes",
    },
  },
  {
    file: "packages/ledger/src/judge/judge-place.ts",
    find: '  if (free <= 0) return { outcome: { code: "too_many_holds" } };\n',
    replace: "",
    what: "one account fills the memory of each writer with open holds",
    caught: { test: "packages/ledger/src/decide.test.ts", name: "of an account have a largest number" },
  },
  {
    file: "packages/ledger/src/judge/judge-place.ts",
    find: "  if (openHolds(levels[0]) >= HOLDS_PER_FREE_PLACE * free)",
    replace: "  if ((levels[0]?.totals.holds ?? 0) >= HOLDS_PER_FREE_PLACE * free)",
    what: "a key has its share of open holds once more in each window",
    caught: { test: "packages/ledger/src/decide.test.ts", name: "of a key alone are three quarters" },
  },
  {
    file: `${CHAIN}/account-work.ts`,
    find: "      return isOfMoney && outcome.refusal?.inFlight === false;\n",
    replace: "      return isOfMoney;\n",
    what: "a place that waits for other holds is refused by old memory",
    caught: { test: TEST, name: "is read at once if one of them may be a repeat" },
  },
  {
    file: "services/billing/src/windows-copy/used-up-budgets.ts",
    find: "if (known.has(id)) doubtful.add(accountId);",
    replace: "known.has(accountId);",
    what: "a copy refuses the repeat of an open hold",
    caught: { test: LYING_REDIS, name: "the repeat of an open hold" },
  },
];
