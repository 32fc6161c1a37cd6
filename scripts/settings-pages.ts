// The pages in docs/operations/ have one row for each setting, written from the schema by which a process reads it.
// A setting has one text, in its schema; a page is never edited by hand.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launcherConfig, routerModules } from "@gr/all-in-one";
import { processConfig } from "@gr/runtime";
import type { z } from "zod";
import { ROOT, ToolError } from "./tool.ts";

export interface Setting {
  readonly name: string;
  /** In Markdown. */
  readonly byDefault: string;
  /** In Markdown; links are relative to docs/. */
  readonly meaning: string;
}

interface Page {
  readonly file: string;
  readonly title: string;
  /** Heading in docs/operations.md that explains these settings. */
  readonly explained: string;
  readonly settings: RegExp;
}

/** A setting is on the first page that matches its name. */
const PAGES: readonly Page[] = [
  {
    file: "public-api",
    title: "The public API",
    explained: "the-public-api",
    settings: /^(HOST|PORT|PUBLIC_)/,
  },
  {
    file: "rate-limits",
    title: "Rate limits and connections",
    explained: "rate-limits",
    settings: /^(RATE_LIMIT|TRUSTED_PROXIES|MAX_CONNECTIONS|UPLOAD|ANSWER)/,
  },
  {
    file: "storage-and-secrets",
    title: "Storage and secrets",
    explained: "storage-and-secrets",
    settings: /^(DATA|LEDGER|REDIS|KEY_PEPPER|MAX_KEYS|WEB_TOKEN|INTERNAL_AUTH)/,
  },
  {
    file: "console",
    title: "The console",
    explained: "people-of-the-console",
    settings: /^CONSOLE/,
  },
  {
    file: "payments-and-statements",
    title: "Payments and statements",
    explained: "statements-of-providers",
    settings: /^(STRIPE|STATEMENT)/,
  },
  {
    file: "text-upstreams",
    title: "Text upstreams and the catalogue",
    explained: "text-upstreams",
    settings: /^(TEXT_UPSTREAM|TEXT_PRICE|TEXT_IMPORT|CATALOG)/,
  },
  {
    file: "media-providers",
    title: "Providers of images and videos",
    explained: "upstreams",
    settings: /_API_KEY$|_BASE_URL$|^MEDIA_(PROVIDERS|LOOKUP)/,
  },
  { file: "simulator", title: "The simulator", explained: "upstreams", settings: /^(SIMULATOR|SANDBOX)/ },
  {
    file: "hosted-media",
    title: "Hosted media",
    explained: "hosted-media",
    settings: /^(MEDIA_S3|FFMPEG|MEDIA_RETENTION)/,
  },
  { file: "webhooks", title: "Webhooks", explained: "webhooks", settings: /^WEBHOOK/ },
  {
    file: "timers-and-limits",
    title: "Timers and limits of requests",
    explained: "timers-and-limits",
    settings: /^(TEXT|MEDIA|VIDEO|HOLD|RESOLVE|FREE)/,
  },
  {
    file: "processes",
    title: "Every process",
    explained: "every-process",
    settings: /^(LOG_LEVEL|OTEL|TRACE|MIGRATE|STOP|SERVICE)/,
  },
];

const FOLDER = join(ROOT, "docs/operations");

/** Returns the settings of all programs, in the order of their schemas. @throws ToolError for a setting without one text */
export function allSettings(): Setting[] {
  const texts = new Map<string, Set<string>>();
  const settings = new Map<string, Setting>();
  const shapes = [
    ...routerModules.map(({ config }) => config.shape),
    processConfig.shape,
    launcherConfig.shape,
  ];
  for (const [name, schema] of shapes.flatMap((shape) => Object.entries(shape as z.ZodRawShape))) {
    const known = texts.get(name) ?? new Set();
    texts.set(name, known);
    const { description, byDefault } = (schema as z.ZodType).meta() ?? {};
    if (description === undefined) continue;
    known.add(description);
    if (/[|\n]/.test(`${description}${byDefault ?? ""}`))
      throw new ToolError(`the description of ${name} has a character that ends a row`);
    const value = defaultOf(schema as z.ZodType);
    settings.set(name, { name, meaning: description, byDefault: String(byDefault ?? value ?? "–") });
    if (typeof byDefault === "string" && byDefault.startsWith("`") && !byDefault.startsWith(value ?? "`"))
      throw new ToolError(`the default of ${name} is ${value}, its text says ${byDefault}`);
  }
  for (const [name, known] of texts)
    if (known.size !== 1) throw new ToolError(`${name} needs one description, and has ${known.size}`);
  return [...settings.values()];
}

/** @returns the default value in Markdown; undefined without one */
function defaultOf(schema: z.ZodType): string | undefined {
  const { def } = schema as unknown as { def: Record<string, unknown> };
  if (def["type"] === "default") {
    const value = def["defaultValue"];
    return value === "" ? "–" : `\`${value}\``;
  }
  const inner = def["innerType"] ?? def["in"];
  return inner === undefined ? undefined : defaultOf(inner as z.ZodType);
}

/** Returns the text of each page by its name in docs/operations/. @throws ToolError for a setting without a page */
export function settingsPages(): Map<string, string> {
  const settings = allSettings();
  const pageOf = ({ name }: Setting) => PAGES.find((page) => page.settings.test(name));
  const homeless = settings.filter((setting) => pageOf(setting) === undefined);
  if (homeless.length > 0)
    throw new ToolError(
      `no page of scripts/settings-pages.ts has ${homeless.map(({ name }) => name).join(", ")}`,
    );
  const pages = PAGES.map((page): [string, string] => [
    `${page.file}.md`,
    pageText(
      page,
      settings.filter((setting) => pageOf(setting) === page),
    ),
  ]);
  const contents = PAGES.map(({ file, title, explained }) => {
    const count = settings.filter((setting) => pageOf(setting)?.file === file).length;
    return `| [${title}](${file}.md) | ${count} | [operations](../operations.md#${explained}) |`;
  });
  const head = ["# Settings by topic", "", NOTE, "", "| page | settings | explained in |", "|---|---|---|"];
  return new Map([["README.md", `${[...head, ...contents].join("\n")}\n`], ...pages]);
}

const NOTE = "`npm run generate` writes these pages from the schemas of the settings; edit the text there.";

function pageText({ title, explained }: Page, settings: readonly Setting[]): string {
  const rows = settings.map(
    ({ name, byDefault, meaning }) => `| \`${name}\` | ${byDefault} | ${fromHere(meaning)} |`,
  );
  const more = `[Operations](../operations.md#${explained}) explains them; [all topics](README.md). ${NOTE}`;
  const head = [`# Settings: ${title}`, "", more, "", "| variable | default | meaning |", "|---|---|---|"];
  return `${[...head, ...rows].join("\n")}\n`;
}

/** Changes links that are relative to docs/, or to docs/operations.md, into links from docs/operations/. */
function fromHere(text: string): string {
  return text.replace(/\]\((?!https?:)(#?)/g, (_, anchor) =>
    anchor === "#" ? "](../operations.md#" : "](../",
  );
}

export async function writeSettingsPages(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  for (const [name, text] of settingsPages()) await writeFile(join(FOLDER, name), text);
}

/** @throws ToolError that names the pages which `npm run generate` would change */
export async function checkSettingsPages(): Promise<void> {
  const pages = settingsPages();
  const kept = await readdir(FOLDER);
  const stale: string[] = kept.filter((name) => !pages.has(name));
  for (const [name, text] of pages)
    if (!kept.includes(name) || (await readFile(join(FOLDER, name), "utf8")) !== text) stale.push(name);
  if (stale.length === 0) return;
  throw new ToolError(`docs/operations/ is not current; run "npm run generate":\n${stale.join("\n")}`);
}
