// Guarantee of both transports: the results of a call within the process and of a call over the network are the same.

import { once } from "node:events";
import { connect, constants, createServer } from "node:http2";
import { type AddressInfo, connect as connectSocket, createServer as createSocketServer } from "node:net";
import type { Transport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ServiceError } from "@gr/proto";
import { BillingService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createRemoteTransport } from "./peers.ts";
import { systemClock } from "./process/clock.ts";
import { createInProcessTransport } from "./rpc/in-process-transport.ts";
import { answerErrors, requireServiceToken } from "./rpc/rpc-interceptors.ts";
import { type RpcServer, startRpcServer } from "./rpc/rpc-server.ts";
import { createServiceClient } from "./rpc/service-client.ts";
import { type KeptLog, keptLog, Probe } from "./test/probe-services.ts";

const SECRET = "a secret for tests that is long enough";
const kinds = ["in-process", "network"] as const;

describe.each(kinds)("%s transport", (kind) => {
  let probe: Probe;
  let kept: KeptLog;
  let server: RpcServer | undefined;
  let transport: Transport;

  beforeEach(async () => {
    probe = new Probe();
    kept = keptLog();
    const interceptors = [answerErrors(kept.log)];
    if (kind === "in-process") {
      transport = createInProcessTransport(probe.services(), interceptors);
      return;
    }
    server = await startRpcServer({
      host: "127.0.0.1",
      port: 0,
      services: probe.services(),
      interceptors,
      gate: requireServiceToken([SECRET], systemClock),
    });
    transport = createRemoteTransport(`http://127.0.0.1:${server.port}`, SECRET, systemClock);
  });
  afterEach(async () => {
    await server?.close(0);
    server = undefined;
  });
  const billing = () => createServiceClient(BillingService, "billing", transport);
  const watch = async () => {
    const versions: string[] = [];
    const catalog = createServiceClient(CatalogService, "catalog", transport);
    let error: unknown;
    try {
      for await (const message of catalog.watchCatalog({})) versions.push(message.catalog?.version ?? "");
    } catch (thrown) {
      error = thrown;
    }
    return { versions, error };
  };
  const failureOf = async (call: Promise<unknown>): Promise<ServiceError> => {
    const error: unknown = await call.then(
      () => undefined,
      (thrown) => thrown,
    );
    if (!(error instanceof ServiceError)) throw new Error("not a ServiceError", { cause: error });
    return error;
  };

  test("an answer arrives with its values and types", async () => {
    const answer = await billing().getCredits({ accountId: "a", bySpender: true }, { requestId: "r-1" });
    expect(answer).toMatchObject({ depositedCredits: 5n, remainingCredits: 3n, heldCredits: 0n });
    expect(answer.usage[0]).toMatchObject({ usedCredits: 2n, requests: 1n });
    expect(probe.lastRequest).toMatchObject({ accountId: "a", bySpender: true });
    expect(probe.requestIds).toEqual(["r-1"]);
  });

  test("what one side changes afterwards the other side never sees", async () => {
    const request = { accountId: "before" };
    const answer = await billing().getCredits(request);
    request.accountId = "after";
    expect(probe.lastRequest?.accountId).toBe("before");
    if (probe.lastRequest !== undefined) probe.lastRequest.accountId = "changed by the callee";
    expect(request.accountId).toBe("after");
    probe.answer.depositedCredits = 99n;
    const [usage] = probe.answer.usage;
    if (usage !== undefined) usage.usedCredits = 99n;
    expect(answer.depositedCredits).toBe(5n);
    expect(answer.usage[0]?.usedCredits).toBe(2n);
  });

  test("a ServiceError arrives as it was thrown and is not logged", async () => {
    const error = await failureOf(billing().getCredits({ accountId: "service error" }));
    expect(error).toMatchObject({
      reason: "spend_limit_in_flight",
      message: "The limit is reserved.",
      param: "model",
      retryAfterMs: 1_500,
    });
    expect(kept.lines).toEqual([]);
  });

  test("an unexpected error says nothing to the caller and is logged once, with the request's id", async () => {
    const call = billing().getCredits({ accountId: "bug" }, { requestId: "r-2" });
    const error: unknown = await call.catch((thrown) => thrown);
    expect(error).not.toBeInstanceOf(ServiceError);
    expect(String(error)).not.toContain("hunter2");
    expect(kept.lines).toHaveLength(1);
    expect(kept.lines[0]).toMatchObject({ requestId: "r-2", err: { message: "the password is hunter2" } });
  });

  test("a deadline ends the call on both sides, and the outcome is not known", async () => {
    let entered = false;
    void probe.entered.promise.then(() => {
      entered = true;
    });
    // A call that ends before its arrival proves nothing about the other side.
    for (let timeoutMs = 30; !entered; timeoutMs *= 2) {
      const error = await failureOf(billing().getCredits({ accountId: "wait" }, { timeoutMs }));
      expect(error.reason).toBe("service_unavailable");
    }
    await probe.aborted.promise;
  });

  test("a caller that gives up ends the call on both sides", async () => {
    const caller = new AbortController();
    const failure = failureOf(billing().getCredits({ accountId: "wait" }, { signal: caller.signal }));
    await probe.entered.promise;
    caller.abort();
    expect((await failure).reason).toBe("service_unavailable");
    await probe.aborted.promise;
  });

  test("a caller that gave up before calling is not served", async () => {
    const call = billing().getCredits({ accountId: "a" }, { signal: AbortSignal.abort() });
    expect((await failureOf(call)).reason).toBe("service_unavailable");
    expect(probe.lastRequest).toBeUndefined();
  });

  test("messages above the limit are refused in both directions", async () => {
    const accountId = "x".repeat(17 * 1024 * 1024);
    await expect(billing().openAccount({ accountId })).rejects.toThrow();
    await expect(billing().getCredits({ accountId: "large answer" })).rejects.toThrow();
    await expect(billing().getCredits({ accountId: "a" })).resolves.toBeDefined();
  });

  test("a method that is not implemented is an error, not an answer", async () => {
    await expect(billing().verifyLedger({})).rejects.toThrow();
  });

  test("a stream arrives message by message and ends", async () => {
    expect(await watch()).toEqual({ versions: ["1", "2"], error: undefined });
  });

  test("a ServiceError in the middle of a stream arrives after the messages before it", async () => {
    probe.stream = "service error";
    const { versions, error } = await watch();
    expect(versions).toEqual(["1", "2"]);
    expect(error).toMatchObject({ reason: "model_not_found", message: "Gone.", param: "model" });
    expect(kept.lines).toEqual([]);
  });

  test("an unexpected error in the middle of a stream is kept inside and logged once", async () => {
    probe.stream = "bug";
    const { versions, error } = await watch();
    expect(versions).toEqual(["1", "2"]);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).not.toContain("hunter2");
    expect(kept.lines).toHaveLength(1);
  });

  test("a reader that leaves a stream ends it on the other side", async () => {
    probe.stream = "wait";
    const caller = new AbortController();
    const catalog = createServiceClient(CatalogService, "catalog", transport);
    const read = async () => {
      for await (const { catalog: seen } of catalog.watchCatalog({}, { signal: caller.signal })) {
        if (seen?.version === "2") caller.abort();
      }
    };
    await expect(read()).rejects.toThrow();
    await probe.streamEnded.promise;
  });
});

describe("network transport alone", () => {
  test("a server that is not there is a service that does not answer", async () => {
    const transport = createRemoteTransport("http://127.0.0.1:1", SECRET, systemClock);
    const call = createServiceClient(BillingService, "billing", transport).getCredits({ accountId: "a" });
    await expect(call).rejects.toMatchObject({
      reason: "service_unavailable",
      message: expect.stringContaining("billing"),
      retryAfterMs: 1_000,
    });
  });

  test("calls that a server refuses unseen while it goes away are made again, on a new connection", async () => {
    const probe = new Probe();
    const going = createServer();
    const real = connectNodeAdapter({
      routes: (router) => {
        for (const { desc, impl } of probe.services()) router.service(desc, impl);
      },
    });
    let refusals = 0;
    going.on("session", (session) => {
      if (refusals > 0) return;
      // As Node does with late calls after it has closed a session.
      session.on("stream", (stream) => {
        refusals += 1;
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        session.close();
      });
    });
    going.on("request", (request, response) => {
      if (!request.stream.destroyed) real(request, response);
    });
    await new Promise<void>((resolve) => going.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = going.address() as AddressInfo;
      const transport = createRemoteTransport(`http://127.0.0.1:${port}`, SECRET, systemClock);
      const answer = await createServiceClient(BillingService, "billing", transport).getCredits({
        accountId: "a",
      });
      expect({ refusals, deposited: answer.depositedCredits }).toEqual({ refusals: 1, deposited: 5n });
    } finally {
      going.close();
    }
  });

  test("a server that stops serves what clients send until they have heard of it", async () => {
    const probe = new Probe();
    const serve = () =>
      startRpcServer({
        host: "127.0.0.1",
        port: 0,
        services: probe.services(),
        interceptors: [],
        gate: () => undefined,
      });
    const server = await serve();
    const client = connect(`http://127.0.0.1:${server.port}`);
    try {
      await once(client, "connect");
      const goaway = once(client, "goaway");
      const stopping = server.close(60_000);
      const [code, lastStream] = await goaway;
      expect({ code, lastStream }).toEqual({ code: constants.NGHTTP2_NO_ERROR, lastStream: 2 ** 31 - 1 });
      client.close();
      await stopping;
    } finally {
      client.destroy();
    }
  });

  test("a session of which the client has gone is closed on this side, too", async () => {
    const server = await startRpcServer({
      host: "127.0.0.1",
      port: 0,
      services: [],
      interceptors: [],
      gate: () => undefined,
      sessionAgeMs: () => 5,
    });
    const client = connectSocket(server.port, "127.0.0.1");
    const between = createSocketServer({ allowHalfOpen: true }, (socket) => socket.pipe(client).pipe(socket));
    between.listen(0, "127.0.0.1");
    await once(between, "listening");
    const closed = once(client, "end");
    const { port } = between.address() as AddressInfo;
    const session = connect(`http://127.0.0.1:${port}`);
    try {
      await closed;
    } finally {
      session.destroy();
      between.close();
      await server.close(0);
    }
  });

  test("a server that stops ends its streams and lets its calls finish", async () => {
    const probe = new Probe();
    probe.stream = "wait";
    const server = await startRpcServer({
      host: "127.0.0.1",
      port: 0,
      services: probe.services(),
      interceptors: [],
      gate: () => undefined,
    });
    const transport = createRemoteTransport(`http://127.0.0.1:${server.port}`, SECRET, systemClock);
    const versions: string[] = [];
    const read = async () => {
      for await (const message of createServiceClient(CatalogService, "catalog", transport).watchCatalog(
        {},
      )) {
        versions.push(message.catalog?.version ?? "");
        if (versions.length === 2) stopping = server.close(60_000);
      }
    };
    let stopping: Promise<void> | undefined;
    await read();
    await stopping;
    expect(versions).toEqual(["1", "2"]);
  });
});
