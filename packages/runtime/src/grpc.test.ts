// Guarantee of the RPC port: any gRPC client can call it; here an unchanged @grpc/grpc-js, with nothing but the proto
// files.
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { defineModule } from "./module.ts";
import { systemClock } from "./process/clock.ts";
import { signToken } from "./rpc/service-token.ts";
import { type RunningProcess, startProcess } from "./run.ts";
import { Probe } from "./test/probe-services.ts";

const SECRET = "a secret for tests that is long enough";
const PROTO = fileURLToPath(new URL("../../../proto", import.meta.url));

type Callback = (error: grpc.ServiceError | null, answer: Record<string, unknown>) => void;
type Rpc = Record<
  string,
  (request: object, metadata: grpc.Metadata, callback?: Callback) => grpc.ClientReadableStream<object>
>;

describe("an unmodified gRPC client", () => {
  const probe = new Probe();
  const readiness: { problem: string | undefined } = { problem: undefined };
  let running: RunningProcess;
  const clients: grpc.Client[] = [];

  beforeAll(async () => {
    const module = defineModule({
      name: "probe",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: probe.services(), ready: async () => readiness.problem ?? true }),
    });
    running = await startProcess([module], {
      env: {
        SERVICE_HTTP_PORT: "0",
        SERVICE_RPC_PORT: "0",
        INTERNAL_AUTH_SECRET: SECRET,
        LOG_LEVEL: "silent",
      },
    });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await running.stop();
  });

  function clientOf(file: string, name: string): Rpc {
    const definition = loadSync(file, {
      includeDirs: [PROTO],
      keepCase: false,
      longs: String,
      enums: String,
    });
    let at: unknown = grpc.loadPackageDefinition(definition);
    for (const part of name.split(".")) at = (at as Record<string, unknown>)[part];
    const Client = at as grpc.ServiceClientConstructor;
    const client = new Client(`127.0.0.1:${running.rpcPort}`, grpc.credentials.createInsecure());
    clients.push(client);
    return client as unknown as Rpc;
  }
  const billing = () => clientOf("router/billing/v1/billing.proto", "router.billing.v1.BillingService");
  const catalog = () => clientOf("router/catalog/v1/catalog.proto", "router.catalog.v1.CatalogService");
  const health = () => clientOf("grpc/health/v1/health.proto", "grpc.health.v1.Health");
  const GET_CREDITS = "rpc:router.billing.v1.BillingService/GetCredits";
  const WATCH = "rpc:router.catalog.v1.CatalogService/WatchCatalog";
  const tokenFor = (audience: string, secret = SECRET) => {
    const metadata = new grpc.Metadata();
    metadata.set("authorization", `Bearer ${signToken(secret, audience, "", systemClock)}`);
    return metadata;
  };
  const call = (client: Rpc, method: string, request: object, metadata = new grpc.Metadata()) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      client[method]?.(request, metadata, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      );
    });
  const read = async (stream: grpc.ClientReadableStream<object> | undefined) => {
    const messages: object[] = [];
    for await (const message of stream ?? []) messages.push(message as object);
    return messages;
  };

  test("calls a service with a service token", async () => {
    const answer = await call(billing(), "getCredits", { accountId: "a" }, tokenFor(GET_CREDITS));
    expect(answer).toMatchObject({ depositedCredits: "5", remainingCredits: "3" });
    expect(probe.lastRequest?.accountId).toBe("a");
  });

  test("gets a typed error with its status and message", async () => {
    const failure = call(billing(), "getCredits", { accountId: "service error" }, tokenFor(GET_CREDITS));
    await expect(failure).rejects.toMatchObject({
      code: grpc.status.FAILED_PRECONDITION,
      details: "The limit is reserved.",
    });
  });

  test("never gets the text of an unexpected error", async () => {
    const failure = call(billing(), "getCredits", { accountId: "bug" }, tokenFor(GET_CREDITS));
    await expect(failure).rejects.toMatchObject({ code: grpc.status.INTERNAL, details: "internal error" });
  });

  test("reads a stream", async () => {
    const messages = await read(catalog()["watchCatalog"]?.({}, tokenFor(WATCH)));
    expect(messages).toMatchObject([{ catalog: { version: "1" } }, { catalog: { version: "2" } }]);
  });

  test.each([
    ["no token", () => new grpc.Metadata()],
    [
      "a token made with another secret",
      (own: string) => tokenFor(own, "another secret that is long enough"),
    ],
    ["a token for another purpose", () => tokenFor("rest:billing")],
    ["a token for another method", (own: string) => tokenFor(own === WATCH ? GET_CREDITS : WATCH)],
  ])("is refused with %s, for calls and for streams", async (_name, metadata) => {
    probe.lastRequest = undefined;
    const refusal = { code: grpc.status.UNAUTHENTICATED };
    await expect(
      call(billing(), "getCredits", { accountId: "a" }, metadata(GET_CREDITS)),
    ).rejects.toMatchObject(refusal);
    await expect(read(catalog()["watchCatalog"]?.({}, metadata(WATCH)))).rejects.toMatchObject(refusal);
    expect(probe.lastRequest).toBeUndefined();
  });

  test("asks for health without a token", async () => {
    expect(await call(health(), "check", {})).toEqual({ status: "SERVING" });
    readiness.problem = "the database is away";
    expect(await call(health(), "check", {})).toEqual({ status: "NOT_SERVING" });
    readiness.problem = undefined;
  });

  test("watches health and sees each change once", async () => {
    const stream = health()["watch"]?.({}, new grpc.Metadata());
    if (stream === undefined) throw new Error("no stream");
    const seen: unknown[] = [];
    for await (const message of stream) {
      seen.push((message as { status: string }).status);
      readiness.problem = seen.length === 1 ? "the database is away" : undefined;
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(["SERVING", "NOT_SERVING", "SERVING"]);
  });

  test("finds the services and their files by reflection, without a token", async () => {
    const reflection = clientOf(
      "grpc/reflection/v1/reflection.proto",
      "grpc.reflection.v1.ServerReflection",
    ) as unknown as Record<string, (metadata: grpc.Metadata) => grpc.ClientDuplexStream<object, object>>;
    const ask = async (request: object) => {
      const stream = reflection["serverReflectionInfo"]?.(new grpc.Metadata());
      stream?.write(request);
      stream?.end();
      return (await read(stream))[0] as Record<string, Record<string, unknown>>;
    };
    const { listServicesResponse } = await ask({ listServices: "" });
    expect(listServicesResponse?.["service"]).toEqual(
      expect.arrayContaining([{ name: "router.billing.v1.BillingService" }]),
    );
    const { fileDescriptorResponse } = await ask({ fileContainingSymbol: "router.billing.v1.Place" });
    expect(fileDescriptorResponse?.["fileDescriptorProto"]).toHaveLength(1);
    const { errorResponse } = await ask({ fileByFilename: "nowhere.proto" });
    expect(errorResponse).toMatchObject({ errorCode: grpc.status.NOT_FOUND });
  });
});
