// Only the provider's own statement shows this leak: the simulator bills more than its usage reports. The comparison is
// silent before, and then finds exactly the surcharge, by model and day; so does a CSV file.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sandboxEnvironment } from "@gr/all-in-one";
import { ConsoleOperatorService } from "@gr/proto/console";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { serviceOf } from "./operator.ts";
import { cliOf } from "./operator-cli.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const SURCHARGE = 5_000_000n;
const MODEL = "sandbox/chat";

describe.each(topologiesByDepth)("reconciliation (%s)", (topology) => {
  let simulator: RunningSimulator;
  let router: Router;
  let folder: string;
  const firstDay = new Date().toISOString().slice(0, 10);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "statement-"));
    simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
    const statements = [
      {
        ...{ name: "openrouter", kind: "openrouter", providers: ["default", "openrouter"] },
        base_url: `${simulator.url}/openrouter/api/v1`,
      },
      { name: "openai", kind: "openai", base_url: `${simulator.url}/openai/v1` },
    ];
    router = await startRouter(topology, {
      inProcess: true,
      env: {
        ...sandboxEnvironment(simulator.url),
        STATEMENTS: JSON.stringify(statements),
        STATEMENT_KEYS: '{"openrouter":"management","openai":"admin"}',
        STATEMENT_TOLERANCE_USD: "0",
        STATEMENT_TOLERANCE_PERCENT: "0",
      },
    });
  });
  afterAll(async () => {
    await router?.dispose();
    await simulator?.close();
    await rm(folder, { recursive: true });
  });

  async function reconcile(upstream: string, ...more: string[]) {
    const to = new Date().toISOString().slice(0, 10);
    const args = ["reconcile", "--upstream", upstream, "--from", firstDay, "--to", to, ...more];
    const { code, out, err } = await cliOf(router.dataDir)(...args, "--json");
    return { code, err, facts: out === "" ? undefined : JSON.parse(out) };
  }

  async function chat(model: string): Promise<void> {
    const messages = [{ role: "user", content: "How tall is a lighthouse?" }];
    const answer = await call(router, "POST", "/v1/compat/chat/completions", { body: { model, messages } });
    expect(answer.status).toBe(200);
  }

  test("the books fit the statements of OpenRouter and OpenAI after texts and images", async () => {
    await chat(MODEL);
    await chat("sandbox/chat-vision");
    const image = { model: "sandbox/image", prompt: "a lighthouse" };
    expect((await call(router, "POST", "/v1/compat/images/generations", { body: image })).status).toBe(200);
    const text = await reconcile("openrouter");
    expect(text).toMatchObject({ code: 0, err: "", facts: { differs: false, off: "0" } });
    expect(text.facts.models.map((row: { model: string }) => row.model).sort()).toEqual([
      MODEL,
      "sandbox/chat-vision",
    ]);
    expect(text.facts.billed).toBe(text.facts.booked);
    const images = await reconcile("openai");
    expect(images).toMatchObject({ code: 0, facts: { billed: "0.01", booked: "0.01", differs: false } });
  });

  test("the console has compared complete days by itself, and shows that in the CLI and to operators only", async () => {
    const last = () => cliOf(router.dataDir)("reconcile", "--json");
    const comparisons = async () => JSON.parse((await last()).out).comparisons;
    await until(async () => (await comparisons()).length === 2, { timeoutMs: 60_000 });
    expect(await comparisons()).toMatchObject([
      { upstream: "openai", differs: false },
      { upstream: "openrouter", differs: false, off: "0" },
    ]);
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    const email = "operator@example.com";
    await people.addOperator({ email });
    const browser = new Browser(router);
    expect((await browser.get("operator/statements")).status).toBe(401);
    await browser.post("sign-in/link", { token: tokenOf((await people.createSignInLink({ email })).url) });
    const { status, body } = await browser.get("operator/statements");
    expect([status, body.data]).toMatchObject([
      200,
      [
        { name: "openrouter", is_read: true, problem: null, comparison: { off: "0" } },
        { name: "openai", is_read: true, problem: null, comparison: { billed: "0", booked: "0" } },
      ],
    ]);
  });

  test("a surcharge that no usage reports is found, with its model and to the last unit", async () => {
    const body = JSON.stringify({ model: MODEL, pico_usd: String(SURCHARGE) });
    const put = await fetch(`${simulator.url}/surcharges/openrouter`, {
      ...{ method: "PUT", headers: { "content-type": "application/json" }, body },
    });
    expect(put.status).toBe(204);
    for (const model of [MODEL, MODEL, "sandbox/chat-vision"]) await chat(model);
    const { code, facts } = await reconcile("openrouter");
    expect(code).toBe(1);
    expect(facts).toMatchObject({ differs: true, off: "0.00001" });
    const wrong = facts.models.filter((row: { differs: boolean }) => row.differs);
    expect(wrong).toMatchObject([{ model: MODEL, difference: "0.00001" }]);
    const range = ["--from", facts.from, "--to", facts.to];
    const text = await cliOf(router.dataDir)("reconcile", "--upstream", "openrouter", ...range);
    expect([text.code, text.err]).toEqual([1, ""]);
    expect(text.out).toMatch(/^The books differ from the statement of openrouter by 0\.00001 USD, /);
    expect(text.out).toMatch(/^sandbox\/chat +\S+ +\S+ +0\.00001 +yes$/m);
    expect(text.out).toMatch(/^\d{4}-\d\d-\d\d +sandbox\/chat +\S+ +\S+ +0\.0000\d+$/m);
    expect((await reconcile("openai")).code).toBe(0);
  });

  test("a statement as CSV is compared in the same way, and a wrong line is named", async () => {
    const file = join(folder, "statement.csv");
    await writeFile(file, `day,model,usd\n${firstDay},sandbox/image,0.03\n`);
    const { code, facts } = await reconcile("openai", "--csv", file);
    expect([code, facts.models]).toMatchObject([
      1,
      [{ model: "sandbox/image", difference: "0.02", differs: true }],
    ]);
    await writeFile(file, `day,model,usd\n${firstDay},sandbox/image,three\n`);
    const refused = await reconcile("openai", "--csv", file);
    expect([refused.code, JSON.parse(refused.err).error]).toMatchObject([
      1,
      { code: "invalid_value", message: expect.stringContaining("Line 2 has an amount") },
    ]);
  });

  test("a name that is in no setting is refused with the names that are", async () => {
    const { code, err } = await reconcile("nobody");
    expect([code, JSON.parse(err).error.message]).toEqual([
      1,
      expect.stringContaining("STATEMENTS has openrouter, openai"),
    ]);
  });
});
