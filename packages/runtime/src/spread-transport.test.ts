// Guarantees of calls to a module with several processes: one account has one process, and the end of a process moves its accounts
// without a lost call.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { type Reason, ServiceError, toConnectError } from "@gr/proto";
import { BillingService } from "@gr/proto/billing";
import { ManualClock } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createRemoteTransport, reportSilence } from "./peers.ts";
import { answerErrors, requireServiceToken } from "./rpc/rpc-interceptors.ts";
import { type RpcServer, startRpcServer } from "./rpc/rpc-server.ts";
import { addressFor, createServiceClient } from "./rpc/service-client.ts";
import { SpreadTransport, urlsAt } from "./spread-transport.ts";
import { keptLog, Probe } from "./test/probe-services.ts";

const SECRET = "a secret for tests that is long enough";
const ACCOUNTS = Array.from({ length: 60 }, (_, no) => `account ${no}`);

interface Target {
  readonly probe: Probe;
  readonly server: RpcServer;
  readonly url: string;
}

let clock: ManualClock;
let targets: Target[];
/** Answer of the host's name. */
let resolve: () => Promise<readonly string[]>;

async function start(port = 0): Promise<Target> {
  const probe = new Probe();
  const server = await startRpcServer({
    ...{ host: "127.0.0.1", port, services: probe.services() },
    interceptors: [answerErrors(keptLog().log)],
    gate: requireServiceToken([SECRET], clock),
  });
  return { probe, server, url: `http://127.0.0.1:${server.port}` };
}

beforeEach(async () => {
  clock = new ManualClock();
  targets = await Promise.all([1, 2, 3].map(() => start()));
  resolve = async () => targets.map(({ url }) => url);
});
afterEach(async () => {
  await Promise.all(targets.map(({ server }) => server.close(0)));
});

const dial = (name = "http://127.0.0.1:1") =>
  createServiceClient(
    BillingService,
    "billing",
    createRemoteTransport(name, SECRET, clock, () => resolve()),
  );
type Client = ReturnType<typeof dial>;

/** Returns the number of the process that answers a call. */
async function answering(client: Client, accountId: string, to?: string): Promise<number> {
  const counts = () => targets.map(({ probe }) => probe.requestIds.length);
  const before = counts();
  await client.getCredits({ accountId }, to === undefined ? {} : { to });
  return counts().findIndex((count, index) => count > (before[index] ?? 0));
}

async function answeringAll(client: Client): Promise<number[]> {
  const found: number[] = [];
  for (const accountId of ACCOUNTS) found.push(await answering(client, accountId));
  return found;
}

async function end(index: number): Promise<void> {
  await targets[index]?.server.close(0);
}

describe("of three processes", () => {
  test("all clients choose the same one for an account, and each has some accounts", async () => {
    const first = await answeringAll(dial());
    expect(await answeringAll(dial())).toEqual(first);
    expect(new Set(first)).toEqual(new Set([0, 1, 2]));
  });

  test("one that has ended loses no call, and the others keep their accounts", async () => {
    const client = dial();
    const before = await answeringAll(client);
    await end(1);
    const after = await answeringAll(client);
    expect(after).not.toContain(1);
    for (const [position, index] of before.entries()) if (index !== 1) expect(after[position]).toBe(index);
  });

  test("one that returns has its accounts again", async () => {
    const client = dial();
    const before = await answeringAll(client);
    const [ended] = targets.splice(1, 1);
    clock.advance(5_000);
    await client.getCredits({ accountId: "a" });
    expect(await answeringAll(client)).not.toEqual(before);
    if (ended !== undefined) targets.splice(1, 0, ended);
    clock.advance(5_000);
    await client.getCredits({ accountId: "a" });
    expect(await answeringAll(client)).toEqual(before);
  });

  test("the preferred address of an account answers its calls, also a call for several accounts", async () => {
    const client = dial();
    for (const accountId of ACCOUNTS) {
      const to = await addressFor(client, accountId);
      const index = targets.findIndex(({ url }) => url === to);
      expect(await answering(client, accountId)).toBe(index);
      expect(await answering(client, "another account", to)).toBe(index);
    }
  });

  test("an address that no longer exists is no choice", async () => {
    expect(await answering(dial(), "a", "http://127.0.0.1:2")).toBe(await answering(dial(), "a"));
  });

  test("the known ones stay while the name cannot be resolved", async () => {
    const client = dial();
    const before = await answeringAll(client);
    resolve = () => Promise.reject(new Error("no answer of the name server"));
    clock.advance(5_000);
    await client.getCredits({ accountId: "a" });
    expect(await answeringAll(client)).toEqual(before);
  });
});

test("a call that a process has read is never sent to another one", async () => {
  const client = dial();
  const call = client.getCredits({ accountId: "wait" });
  await Promise.race(targets.map(({ probe }) => probe.entered.promise));
  const refused = expect(call).rejects.toMatchObject({ reason: "service_unavailable" });
  await Promise.all([0, 1, 2].map(end));
  await refused;
  expect(targets.map(({ probe }) => probe.requestIds.length).sort()).toEqual([0, 0, 1]);
});

test.each([
  ["could not be made", "connect", 2],
  ["broke after it was made", "read", 1],
])("a call over a connection that %s is sent so many times: %s, %p", async (_what, syscall, times) => {
  const cause = Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: "EHOSTUNREACH", syscall });
  const sent: string[] = [];
  const connect = (baseUrl: string) => {
    const fail = async () => {
      sent.push(baseUrl);
      throw new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause);
    };
    return { unary: fail, stream: fail };
  };
  const options = {
    url: "http://billing",
    clock,
    connect,
    resolve: async () => ["http://one", "http://two"],
  };
  const client = createServiceClient(BillingService, "billing", new SpreadTransport(options));
  await expect(client.getCredits({ accountId: "a" })).rejects.toMatchObject({
    reason: "service_unavailable",
  });
  expect(new Set(sent).size).toBe(times);
});

test("the tries of a call share its deadline", async () => {
  const limits: (number | undefined)[] = [];
  const unary: Transport["unary"] = async (_method, _signal, timeoutMs) => {
    limits.push(timeoutMs);
    clock.advance(3_000);
    const cause = Object.assign(new Error(""), { code: "EHOSTUNREACH", syscall: "connect" });
    throw new ConnectError("", Code.Unavailable, undefined, undefined, cause);
  };
  const options = {
    url: "http://billing",
    clock,
    connect: () => ({ unary, stream: () => Promise.reject(new Error("no stream")) }),
    resolve: async () => ["http://one", "http://two", "http://three"],
  };
  const client = createServiceClient(BillingService, "billing", new SpreadTransport(options));
  await expect(client.getCredits({ accountId: "a" }, { timeoutMs: 5_000 })).rejects.toThrow();
  expect(limits).toEqual([5_000, 2_000, 1]);
});

test("a silent process is tried by one call at a time, and has its accounts again after an answer", async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const live = targets[0]?.url ?? "";
  resolve = async () => [url, live];
  const client = dial();
  const found = await Promise.all(ACCOUNTS.map((accountId) => addressFor(client, accountId)));
  const accountId = ACCOUNTS[found.indexOf(url)] ?? "";
  const unanswered = (timeoutMs: number) =>
    expect(client.getCredits({ accountId }, { timeoutMs })).rejects.toMatchObject({
      reason: "service_unavailable",
    });
  await unanswered(100);
  clock.advance(2_000);
  const trial = unanswered(60_000);
  await client.getCredits({ accountId });
  expect(await addressFor(client, accountId)).toBe(live);
  const closed = new Promise((ended) => silent.close(ended));
  for (const socket of sockets) socket.destroy();
  await Promise.all([trial, closed]);
  const again = await start(port);
  targets.push(again);
  clock.advance(2_000);
  await client.getCredits({ accountId });
  expect(again.probe.requestIds).toHaveLength(1);
  expect(await addressFor(client, accountId)).toBe(url);
});

test.each<[Reason, boolean]>([
  ["account_not_found", true],
  ["service_unavailable", false],
  ["billing_unavailable", false],
])("a trial that a process answers with %s ends its silence: %p", async (reason, ends) => {
  let error = new ConnectError("no answer", Code.DeadlineExceeded);
  const answer = async () => {
    throw error;
  };
  const options = {
    url: "http://billing",
    clock,
    connect: () => ({ unary: answer, stream: answer }),
    resolve: async () => ["http://one", "http://two"],
  };
  const client = createServiceClient(BillingService, "billing", new SpreadTransport(options));
  const before = await addressFor(client, "a");
  const call = () => client.getCredits({ accountId: "a" });
  await expect(call()).rejects.toThrow();
  expect(await addressFor(client, "a")).not.toBe(before);
  clock.advance(2_000);
  error = toConnectError(new ServiceError(reason, "An answer."));
  await expect(call()).rejects.toMatchObject({ reason });
  expect((await addressFor(client, "a")) === before).toBe(ends);
});

test("the address of a process keeps the rest of its URL, in one family", () => {
  const found = [
    { address: "::1", family: 6 },
    { address: "10.0.0.1", family: 4 },
    { address: "10.0.0.2", family: 4 },
  ];
  expect(urlsAt("http://billing:8082/rpc", found)).toEqual([
    "http://10.0.0.1:8082/rpc",
    "http://10.0.0.2:8082/rpc",
  ]);
  expect(urlsAt("http://billing", found.slice(0, 1))).toEqual(["http://[::1]/"]);
});

test("a process whose machine cannot be reached is the last choice, and an error for no client", async () => {
  // TCP has no broadcast, so the system refuses this address at once.
  const gone = "http://255.255.255.255:1";
  resolve = async () => [gone, targets[0]?.url ?? ""];
  const client = dial();
  const found = await Promise.all(ACCOUNTS.map((accountId) => addressFor(client, accountId)));
  const accountId = ACCOUNTS[found.indexOf(gone)] ?? "";
  expect(await answering(client, accountId)).toBe(0);
  expect(await addressFor(client, accountId)).toBe(targets[0]?.url);
  resolve = async () => [];
  await expect(dial(gone).getCredits({ accountId })).rejects.toMatchObject({ reason: "service_unavailable" });
});

test.each([
  ["an address", { code: "EHOSTUNREACH", syscall: "connect" }, Code.Unavailable],
  ["a name with several addresses", { code: "EHOSTUNREACH" }, Code.Unavailable],
  ["the name server", { code: "EAI_FAIL", syscall: "getaddrinfo" }, Code.Unavailable],
  ["the library", { code: "ERR_HTTP2_ERROR" }, Code.Internal],
])("an error of %s has the code that it deserves: %p", async (_what, fields, code) => {
  const cause = Object.assign(new AggregateError([]), fields);
  const error = new ConnectError("", Code.Internal, undefined, undefined, cause);
  const call = reportSilence(() => Promise.reject(error))({} as never);
  await expect(call).rejects.toMatchObject({ code, cause });
});

test("a call ends while the name server is silent", async () => {
  resolve = () => new Promise(() => undefined);
  const client = dial(targets[0]?.url);
  expect(await addressFor(client, "a")).toBe("");
  expect(await answering(client, "a")).toBe(0);
});

describe("while the name has fewer than two addresses", () => {
  test.each([
    ["one", async () => ["http://127.0.0.1:1"]],
    ["none", async () => []],
    ["an error", () => Promise.reject(new Error("no answer of the name server"))],
  ])("calls go by the name itself: %s", async (_what, answer) => {
    resolve = answer;
    const client = dial(targets[0]?.url);
    expect(await answering(client, "a")).toBe(0);
    expect(await addressFor(client, "a")).toBe("");
  });
});

test("with no process left a call fails as one without an answer", async () => {
  await Promise.all([0, 1, 2].map(end));
  const error: unknown = await dial()
    .getCredits({ accountId: "a" })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ reason: "service_unavailable" });
  expect((error as Error).cause).toBeInstanceOf(ConnectError);
  expect((error as { cause: ConnectError }).cause.code).toBe(Code.Unavailable);
});
