// Guarantees of `catalog diff` and `catalog sync`: they name every added or removed model and every changed price,
// amounts old and new.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import {
  type CatalogFolder,
  CatalogOperatorService,
  CatalogSchema,
  CatalogService,
  ModelKind,
  type ModelSchema,
  type SeedFile,
} from "@gr/proto/catalog";
import { defineModule, implement, type RunningProcess, startProcess } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { diffOf } from "../output/catalog-diff.ts";
import { runWith } from "../simulated.ts";
import { SECRET, writeRuntimeFile } from "../test/start-router.ts";

type Model = MessageInitShape<typeof ModelSchema>;

let running: RunningProcess;
let dataDir: string;
let now: Model[];
let synced: () => { before: Model[]; after: Model[] };
let preview: (files: readonly SeedFile[], own?: CatalogFolder) => { models: Model[]; notes?: string[] };

beforeAll(async () => {
  const catalog = defineModule({
    name: "catalog",
    needs: [],
    config: z.object({}),
    create: async () => ({
      rpc: [
        implement(CatalogService, {
          getCatalog: async () => ({ catalog: { version: "1", models: now } }),
          async *watchCatalog() {
            yield {};
          },
        }),
        implement(CatalogOperatorService, {
          previewCatalog: async ({ seedFiles, own }) => {
            const { models, notes = [] } = preview(seedFiles, own);
            return { catalog: { version: "2", models }, notes };
          },
          syncCatalog: async () => {
            const { before, after } = synced();
            return { before: { version: "1", models: before }, after: { version: "2", models: after } };
          },
          getTextImport: async () => ({}),
          getPriceVersion: async () => ({}),
        }),
      ],
    }),
  });
  const env = {
    INTERNAL_AUTH_SECRET: SECRET,
    SERVICE_HTTP_PORT: "0",
    SERVICE_RPC_PORT: "0",
    LOG_LEVEL: "silent",
  };
  running = await startProcess([catalog], { env });
  dataDir = await mkdtemp(join(tmpdir(), "catalog-diff-"));
  await writeRuntimeFile(dataDir, `http://127.0.0.1:${running.rpcPort}`, SECRET);
});
afterAll(async () => {
  await running?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const images = (version: string, high: bigint, low = 6_000_000_000n): Model["price"] => ({
  version,
  rule: {
    case: "image",
    value: {
      tiers: [
        { quality: "low", sizes: ["1024x1024", "1536x1024"], picoUsd: low },
        { quality: "high", picoUsd: high },
      ],
    },
  },
});
const image = (id: string, price: Model["price"]): Model => ({ id, kind: ModelKind.IMAGE, price });

beforeEach(() => {
  now = [image("acme/gone", images("g", 1_000_000_000n)), image("acme/stays", images("a", 211_000_000_000n))];
  preview = () => ({ models: now });
});

const cli = (...args: string[]) => runWith({ DATA_DIR: dataDir }, "catalog", "diff", ...args);

describe("catalog diff", () => {
  test("says so when nothing would change", async () => {
    expect(await cli()).toEqual({ code: 0, out: "Nothing would change.\n", err: "" });
  });

  test("names what comes, what goes, and each amount that changes", async () => {
    preview = () => ({
      models: [
        { ...image("acme/stays", images("b", 222_000_000_000n)), capabilities: ["image-edit"] },
        image("acme/new", images("n", 2_000_000_000n, 2_000_000_000n)),
      ],
      notes: ["The text models are shown as they are now: no answer"],
    });
    const { code, out } = await cli();
    expect({ code, lines: out.trimEnd().split("\n") }).toEqual({
      code: 0,
      lines: [
        "The text models are shown as they are now: no answer",
        "+ acme/new  0.002 USD an image",
        "- acme/gone  from 0.001 USD an image",
        "$ acme/stays",
        "    an image high: 0.211 -> 0.222",
        "~ acme/stays  capabilities",
      ],
    });
    expect(JSON.parse((await cli("--json")).out)).toEqual({
      added: [{ id: "acme/new", price: "0.002 USD an image" }],
      removed: [{ id: "acme/gone", price: "from 0.001 USD an image" }],
      repriced: [
        {
          id: "acme/stays",
          old_version: "a",
          new_version: "b",
          typical: { old: null, new: null },
          amounts: [{ of: "an image high", old: "0.211", new: "0.222" }],
        },
      ],
      changed: [{ id: "acme/stays", fields: ["capabilities"] }],
      notes: ["The text models are shown as they are now: no answer"],
    });
  });

  test("does not leave a price that changed without a word, though each amount is still there", async () => {
    const tiers = [
      { quality: "high", picoUsd: 2_000_000_000n },
      { sizes: ["1024x1024"], picoUsd: 1_000_000_000n },
    ];
    const ruled = (version: string, ordered: typeof tiers): Model["price"] => ({
      version,
      rule: { case: "image", value: { tiers: ordered } },
    });
    now = [image("acme/stays", ruled("a", tiers))];
    preview = () => ({ models: [image("acme/stays", ruled("b", tiers.toReversed()))] });
    expect((await cli()).out).toBe("$ acme/stays  the same amounts, in another order\n");
  });

  test("sends the seed files of a folder, and only those", async () => {
    const folder = await mkdtemp(join(tmpdir(), "catalog-diff-seed-"));
    await writeFile(join(folder, "acme.json"), "{}");
    await writeFile(join(folder, "notes.txt"), "no seed");
    let sent: readonly SeedFile[] = [];
    preview = (files) => {
      sent = files;
      return { models: now };
    };
    expect((await cli("--seed", folder)).code).toBe(0);
    expect(sent).toMatchObject([{ name: "acme.json", content: "{}" }]);
    await rm(join(folder, "acme.json"));
    expect(await cli("--seed", folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining("no seed files"),
    });
    await rm(folder, { recursive: true });
    expect(await cli("--seed", folder)).toMatchObject({
      code: 1,
      err: `The catalogue folder ${folder} cannot be read (ENOENT).\n`,
    });
  });

  test("sends the files of an own catalogue, also when it is empty, and says what a typical request costs then", async () => {
    const folder = await mkdtemp(join(tmpdir(), "catalog-diff-own-"));
    const flat = (version: string, picoUsd: bigint): Model["price"] => ({
      version,
      rule: { case: "image", value: { tiers: [{ picoUsd }] } },
    });
    now = [image("acme/stays", flat("a", 40_000_000_000n))];
    let sent: CatalogFolder | undefined;
    preview = (_files, own) => {
      sent = own;
      return { models: [image("acme/stays", flat("b", 50_000_000_000n))] };
    };
    expect((await cli(folder)).out).toBe(
      "$ acme/stays  a typical request: 0.04 -> 0.05\n    an image: 0.04 -> 0.05\n",
    );
    expect(sent?.files).toEqual([]);
    await writeFile(join(folder, "mine.json"), "{}");
    await cli(folder);
    expect(sent).toMatchObject({ files: [{ name: "mine.json", content: "{}" }] });
    await cli();
    expect(sent).toBeUndefined();
    await rm(folder, { recursive: true });
  });

  test("passes on in one sentence what is wrong with a seed", async () => {
    preview = () => {
      throw new ServiceError(
        "invalid_value",
        "The catalogue seed is not usable: acme.json: acme/x: id: bad.",
        {
          param: "seed_files",
        },
      );
    };
    const { code, out, err } = await cli();
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe("The catalogue seed is not usable: acme.json: acme/x: id: bad (seed_files).\n");
  });
});

describe("catalog validate", () => {
  /** Runs without any address of a router. */
  const validate = (...args: string[]) => runWith({}, "catalog", "validate", ...args);

  test("checks a folder without a router, and exits 1 with a line for each mistake", async () => {
    const folder = await mkdtemp(join(tmpdir(), "catalog-validate-"));
    const write = (name: string, ...models: object[]) =>
      writeFile(join(folder, name), JSON.stringify({ models }));
    await write("a.json", { id: "openai/gpt-image-2", hidden: true });
    expect(await validate(folder)).toEqual({
      code: 0,
      out: `${folder} is right: 0 added, 0 changed, 1 hidden.\n`,
      err: "",
    });
    await write("b.json", { id: "openai/gpt-image-2", name: "" }, { id: "openai/gpt" });
    const { code, out } = await validate(folder);
    expect({ code, lines: out.trimEnd().split("\n") }).toEqual({
      code: 1,
      lines: [
        expect.stringMatching(/^b\.json: openai\/gpt-image-2: name: .*\.$/),
        expect.stringMatching(/^b\.json: openai\/gpt: id: no model with this id is shipped; .*\.$/),
      ],
    });
    expect(JSON.parse((await validate(folder, "--json")).out)).toMatchObject({
      ok: false,
      problems: [expect.any(String), expect.any(String)],
    });
    await rm(folder, { recursive: true });
    const err = `The catalogue folder ${folder} cannot be read (ENOENT).\n`;
    expect(await validate(folder)).toEqual({ code: 1, out: "", err });
  });
});

describe("catalog sync", () => {
  const sync = (...args: string[]) => runWith({ DATA_DIR: dataDir }, "catalog", "sync", ...args);

  test("says what the import has changed", async () => {
    synced = () => ({
      before: now,
      after: [image("acme/stays", images("b", 222_000_000_000n)), image("acme/new", images("n", 0n, 0n))],
    });
    const { code, out } = await sync();
    expect({ code, lines: out.trimEnd().split("\n") }).toEqual({
      code: 0,
      lines: [
        "+ acme/new  0 USD an image",
        "- acme/gone  from 0.001 USD an image",
        "$ acme/stays",
        "    an image high: 0.211 -> 0.222",
      ],
    });
    expect(JSON.parse((await sync("--json")).out)).toMatchObject({
      version: "2",
      added: [{ id: "acme/new" }],
      removed: [{ id: "acme/gone" }],
      repriced: [{ id: "acme/stays", amounts: [{ of: "an image high", old: "0.211", new: "0.222" }] }],
      changed: [],
    });
  });

  test("says so when nothing has changed", async () => {
    synced = () => ({ before: now, after: now });
    expect(await sync()).toEqual({ code: 0, out: "Imported; nothing has changed.\n", err: "" });
  });

  test("that failed is one sentence and exit code 1, with --json as an error for programs", async () => {
    const message = "The text models were not imported: no answer.";
    synced = () => {
      throw new ServiceError("provider_error", message);
    };
    expect(await sync()).toEqual({ code: 1, out: "", err: `${message}\n` });
    const error = { message, code: "provider_error" };
    expect(await sync("--json")).toEqual({ code: 1, out: "", err: `${JSON.stringify({ error })}\n` });
  });
});

describe("amounts", () => {
  const amounts = (before: Model["price"], after: Model["price"]) => {
    const catalog = (price: Model["price"]) =>
      create(CatalogSchema, { models: [{ id: "m", ...(price === undefined ? {} : { price }) }] });
    return diffOf(catalog(before), catalog(after)).repriced[0]?.amounts;
  };

  test("per second tell sizes and sound apart, and regrouped sizes change nothing", () => {
    const rule = (tiers: { sizes: string[]; audio?: boolean; picoUsd: bigint }[], version: string) => ({
      version,
      rule: { case: "second" as const, value: { tiers } },
    });
    const before = rule([{ sizes: ["a", "b"], picoUsd: 84_000_000_000n }], "1");
    const regrouped = rule(
      [
        { sizes: ["b"], picoUsd: 84_000_000_000n },
        { sizes: ["a"], audio: true, picoUsd: 126_000_000_000n },
        { sizes: ["a"], picoUsd: 84_000_000_000n },
      ],
      "2",
    );
    expect(amounts(before, regrouped)).toEqual([{ of: "a second a with sound", old: null, new: "0.126" }]);
  });

  test("per token are per million, each meter by its name", () => {
    const rule = (outputPicoUsd: bigint, cachedInputPicoUsd?: bigint) => ({
      version: String(outputPicoUsd),
      rule: {
        case: "token" as const,
        value: {
          inputPicoUsd: 500_000n,
          outputPicoUsd,
          ...(cachedInputPicoUsd === undefined ? {} : { cachedInputPicoUsd }),
        },
      },
    });
    expect(amounts(rule(1_500_000n), rule(2_000_000n, 50_000n))).toEqual([
      { of: "a million tokens, output", old: "1.5", new: "2" },
      { of: "a million tokens, cachedInput", old: null, new: "0.05" },
    ]);
  });

  test("of a clip are by length, of an area by its unit", () => {
    const clip = (ten: bigint) => ({
      version: String(ten),
      rule: {
        case: "clip" as const,
        value: {
          tiers: [
            { seconds: [6], picoUsd: 280_000_000_000n },
            { seconds: [10], picoUsd: ten },
          ],
        },
      },
    });
    expect(amounts(clip(560_000_000_000n), clip(570_000_000_000n))).toEqual([
      { of: "a video 10 s", old: "0.56", new: "0.57" },
    ]);
    const area = (furtherPicoUsd: bigint) => ({
      version: String(furtherPicoUsd),
      rule: {
        case: "megapixel" as const,
        value: { unitPixels: 1_048_576n, firstPicoUsd: 1n, furtherPicoUsd },
      },
    });
    expect(amounts(area(15_000_000_000n), area(16_000_000_000n))).toEqual([
      { of: "further 1048576 pixels", old: "0.015", new: "0.016" },
    ]);
  });
});
