// The import of text models into a running router. The start and `doctor` report a failure, and
// `catalog sync` opens the upstream's current models to requests at their price, in all processes.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "./http.ts";
import { cliOf } from "./operator-cli.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const LOGGED = /^\{.*"the catalogue changed"\}$/gm;
const PATIENCE = { timeoutMs: 60_000 };
/** The tests ask again and again until a change has arrived. */
const NO_RATE_LIMITS = { RATE_LIMIT_ANONYMOUS_PER_SECOND: "0", RATE_LIMIT_TEXT_PER_SECOND: "0" };

const row = (id: string, prompt = "0.0000005") => ({
  id,
  name: id,
  context_length: 8_000,
  architecture: { input_modalities: ["text"], output_modalities: ["text"] },
  pricing: { prompt, completion: "0.0000015" },
  supported_parameters: [],
});
const COMPLETION = {
  id: "gen-1",
  object: "chat.completion",
  created: 1,
  choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4, cost: 0.000003 },
};

let upstream: Server;
let listed: object[] | undefined;

beforeAll(async () => {
  upstream = createServer((request, response) => {
    if (request.url !== "/v1/models") return sendJson(response, { ...COMPLETION, model: "vendor/any" });
    if (listed === undefined) return response.writeHead(500).end();
    return sendJson(response, { data: listed });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

function sendJson(response: ServerResponse, body: object) {
  return response.setHeader("content-type", "application/json").end(JSON.stringify(body));
}

describe.each(topologiesByDepth)("catalog sync (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    listed = undefined;
    const { port } = upstream.address() as AddressInfo;
    const env = {
      TEXT_UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
      LOG_LEVEL: "info",
      ...NO_RATE_LIMITS,
    };
    router = await startRouter(topology, { sharedPostgres: true, env });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  const cli = (...args: string[]) => cliOf(router.dataDir)(...args);
  const sync = (...args: string[]) => cli("catalog", "sync", ...args);
  const listedIds = async () => {
    const { body } = await call(router, "GET", "/v1/models?type=all", { key: null });
    return (body.data as { id: string }[]).map(({ id }) => id);
  };
  const statusOf = async (model: string) => {
    const messages = [{ role: "user", content: "hello?" }];
    return (await call(router, "POST", "/v1/compat/chat/completions", { body: { model, messages } })).status;
  };

  test("a start without text models says why, and so does doctor until they are imported", async () => {
    expect(router.output()).toContain(
      "models could not be imported: the upstream answered 500; this is tried again",
    );
    const { code, out } = await cli("doctor");
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringContaining("the text models could not be imported: the upstream answered 500"),
    });
    listed = [row("vendor/one"), row("vendor/two")];
    await until(async () => (await listedIds()).length === 2, PATIENCE);
    // The report of the import follows its models.
    await until(async () => (await cli("doctor")).code === 0, PATIENCE);
    expect((await cli("doctor")).out).toContain("2 text");
  });

  test("takes over what the upstream lists now, says what changed, and it can be used", async () => {
    expect(await listedIds()).toEqual(["vendor/one", "vendor/two"]);
    listed = [row("vendor/two", "0.000002"), row("vendor/next")];
    expect(await sync()).toEqual({
      code: 0,
      out: [
        "+ vendor/next  0.5 / 1.5 USD a million tokens in / out",
        "- vendor/one  0.5 / 1.5 USD a million tokens in / out",
        "$ vendor/two  a typical request: 0.002 -> 0.0035",
        "    a million tokens, input: 0.5 -> 2",
        "",
      ].join("\n"),
      err: "",
    });
    expect(await listedIds()).toEqual(["vendor/next", "vendor/two"]);
    await until(async () => (await statusOf("vendor/next")) === 200, PATIENCE);
    await until(async () => (await statusOf("vendor/one")) === 404, PATIENCE);
    // The log has the same, once its lines have arrived.
    const logged = () => JSON.parse(router.output().match(LOGGED)?.at(-1) ?? "{}");
    await until(() => logged().added?.ids?.includes("vendor/next") === true, PATIENCE);
    expect(logged()).toMatchObject({
      added: { count: 1, ids: ["vendor/next"] },
      removed: { count: 1, ids: ["vendor/one"] },
      repriced: { count: 1, ids: ["vendor/two"] },
      changed: { count: 0, ids: [] },
    });
    expect(JSON.parse((await sync("--json")).out)).toMatchObject({ added: [], removed: [], repriced: [] });
  });

  test("keeps the last good listing when the upstream fails: one sentence, exit code 1", async () => {
    const before = await listedIds();
    listed = undefined;
    expect(await sync()).toEqual({
      code: 1,
      out: "",
      err: "The text models were not imported, and the last good ones stay: the upstream answered 500.\n",
    });
    expect(await listedIds()).toEqual(before);
    expect(await statusOf("vendor/two")).toBe(200);
  });
});
