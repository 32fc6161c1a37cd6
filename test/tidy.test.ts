// The style rules that a machine can check. CONTRIBUTING.md names each of them; a rule is changed there and here.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { functionLengths } from "./function-lengths.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LINES_MAX = 500;
const FUNCTION_LINES_MAX = 120;
const FILES_MAX = 14;

/** Folders with more than FILES_MAX source files. The list only becomes shorter. */
const CROWDED: readonly string[] = [
  "packages/paid-request/src",
  "services/media-generation/src/generation",
  "services/media-generation/src/providers",
  "services/media-generation/src/test",
  "test/cluster",
];

/** Packages in which folders import each other in a circle. The list only becomes shorter. */
const TANGLED: readonly string[] = ["services/billing", "services/media-generation", "test/simulation"];

const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
});
const tracked = listed.split("\n").filter((file) => file !== "" && existsSync(join(ROOT, file)));
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

const isTest = (file: string) => /\.test\.tsx?$/.test(file);
const code = tracked.filter((file) => /\.(tsx?|mjs|cjs)$/.test(file) && !file.startsWith("proto/src/gen/"));
const sources = code.filter((file) => !isTest(file));
/** Shipped sources: no tests, no tools. */
const product = sources.filter((file) => /^(apps|gateway|packages|proto|services)\//.test(file));

/** Sources without access to their topology and the environment. */
const MODULES = /^(services|gateway|packages\/(?!embedded|runtime|money))/;

function offenders(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
  );
}

type Arrow = readonly [from: string, to: string, example: string];

/** Imports between folders, without the folders of tests and benches. A file beside folders counts as a folder of its own. */
function importsBetweenFolders(files: readonly string[]): readonly Arrow[] {
  const ships = (path: string) => !/\/(bench|test)(\/|$)/.test(path);
  const folders = [...new Set(files.filter(ships).map((file) => dirname(file)))];
  const holdsFolders = new Set(folders.filter((folder) => folders.some((it) => it.startsWith(`${folder}/`))));
  const folderOf = (file: string) => (holdsFolders.has(dirname(file)) ? file : dirname(file));
  return files.filter(ships).flatMap((file) =>
    [...read(file).matchAll(/(?:from|import\() ?"(\.\.?\/[^"]+)"/g)]
      .map(([, path = ""]) => join(dirname(file), path))
      .filter((target) => ships(target) && folderOf(target) !== folderOf(file))
      .map((target) => [folderOf(file), folderOf(target), `${file} imports ${target}`] as const),
  );
}

/** Returns one example of each arrow that is part of a circle; nothing if the folders have an order. */
function circleOf(arrows: readonly Arrow[]): readonly string[] {
  const froms = new Set(arrows.map(([from]) => from));
  const tos = new Set(arrows.map(([, to]) => to));
  const inner = arrows.filter(([from, to]) => froms.has(to) && tos.has(from));
  if (inner.length < arrows.length) return circleOf(inner);
  return [...new Map(inner.map(([from, to, example]) => [`${from} ${to}`, example])).values()];
}

describe("files", () => {
  test("every source file opens with one to four lines that say what it owns", () => {
    const bad = code.filter((file) => {
      const lines = read(file)
        .replace(/^#!.*\n/, "")
        .split("\n");
      const opening = lines.findIndex((line) => !line.startsWith("//"));
      return opening < 1 || opening > 4;
    });
    expect(bad).toEqual([]);
  });

  test(`no source file is longer than ${LINES_MAX} lines`, () => {
    expect(sources.filter((file) => read(file).split("\n").length > LINES_MAX + 1)).toEqual([]);
  });

  test(`no function is longer than ${FUNCTION_LINES_MAX} lines`, () => {
    const long = sources
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) =>
        functionLengths(read(file))
          .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
          .map(({ name, lines }) => `${file} ${name}: ${lines}`),
      );
    expect(long).toEqual([]);
  });

  test("no file is called after nothing in particular", () => {
    const vague = /^(utils?|helpers?|common|types?|misc|shared)\.(ts|mjs)$/;
    expect(code.filter((file) => vague.test(basename(file)))).toEqual([]);
  });

  test("names are kebab-case", () => {
    expect(code.filter((file) => !/^[a-z0-9]+([-.][a-z0-9]+)*$/.test(basename(file)))).toEqual([]);
  });
});

describe("rooms", () => {
  const domain = ["identity", "models", "text-upstream", "console-api", "request-record"];
  const layer: Record<string, readonly string[]> = {
    proto: [],
    money: [],
    embedded: [],
    ledger: ["money"],
    runtime: ["proto"],
    identity: ["proto", "money", "runtime"],
    models: ["proto", "money", "runtime"],
    "text-upstream": ["proto", "money", "runtime"],
    "request-record": [],
    "console-api": ["request-record"],
    clients: ["proto", "money", "runtime", ...domain],
    "paid-request": ["proto", "money", "runtime", ...domain, "clients"],
    simulator: ["money", "runtime"],
    gateway: ["proto", "money", "runtime", ...domain, "clients", "paid-request"],
    services: ["proto", "money", "ledger", "runtime", ...domain, "clients", "paid-request"],
    // Checking an operator's files must not need a router.
    cli: ["proto", "money", "runtime", ...domain, "clients", "catalog/files"],
  };
  const roomOf = (file: string): string | undefined => {
    const [top = "", second = ""] = file.split("/");
    return ["apps", "packages"].includes(top) ? second : top;
  };

  test("imports go one way, and services never import each other", () => {
    const bad = product.flatMap((file) => {
      const allowed = layer[roomOf(file) ?? ""];
      if (allowed === undefined || /\/(bench|test)\//.test(file)) return [];
      return [...read(file).matchAll(/from "@gr\/([a-z-]+(?:\/files)?)/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !allowed.includes(name))
        .map((name) => `${file} imports @gr/${name}`);
    });
    expect(bad).toEqual([]);
  });

  test("nothing is imported through another package's folders", () => {
    expect(
      offenders(code, /from "(\.\.\/)+(apps|gateway|packages|proto|services|ledger-model|simulation|kit)\//),
    ).toEqual([]);
  });

  test(`no folder has more than ${FILES_MAX} source files`, () => {
    const count = Map.groupBy(sources, (file) => dirname(file));
    const crowded = [...count].filter(([, files]) => files.length > FILES_MAX).map(([folder]) => folder);
    expect(crowded.sort()).toEqual(CROWDED);
  });

  test("no import runs up between the folders of a package", () => {
    const packages = tracked.flatMap((file) => /^(.+)\/package\.json$/.exec(file)?.[1] ?? []);
    const circles = packages.map((folder) => ({
      folder,
      circle: circleOf(importsBetweenFolders(sources.filter((file) => file.startsWith(`${folder}/`)))),
    }));
    expect(packages.length).toBeGreaterThan(20);
    expect(circles.filter(({ folder, circle }) => circle.length > 0 && !TANGLED.includes(folder))).toEqual(
      [],
    );
    const straight = circles.filter(({ circle }) => circle.length === 0).map(({ folder }) => folder);
    expect(TANGLED.filter((folder) => straight.includes(folder))).toEqual([]);
  });

  test("a package is entered through its front doors", () => {
    expect(offenders(code, /["']@gr\/[a-z-]+\/src\//)).toEqual([]);
    // The command line checks an operator's files without a database (decision 18).
    const doors = new Set([".", "./main", "./simulated", "./files"]);
    const services = tracked.filter((file) => /^(gateway|services\/[^/]+)\/package\.json$/.test(file));
    const more = services.flatMap((file) =>
      Object.keys(JSON.parse(read(file)).exports)
        .filter((door) => !doors.has(door) || (door === "./files" && !file.startsWith("services/catalog/")))
        .map((door) => `${file} exports ${door}`),
    );
    expect(services.length).toBeGreaterThan(5);
    expect(more).toEqual([]);
    expect(offenders(product, /["']@gr\/[a-z-]+\/simulated["']/)).toEqual([]);
  });

  test("paths of shipped folders are computed in src/ itself, where a bundle has its one file", () => {
    const deeper = product.filter((file) => /\/src\/.+\//.test(file) && !/\/(bench|test)\//.test(file));
    expect(offenders(deeper, /import\.meta\.dirname|URL\("\./)).toEqual([]);
  });

  test("every service has the files where a reader looks for things", () => {
    const services = [...new Set(tracked.flatMap((file) => /^services\/[^/]+/.exec(file)?.[0] ?? []))];
    const wanted = ["README.md", "src/main.ts", "src/module.ts", "src/config.ts", "src/index.ts"];
    const missing = services.flatMap((service) =>
      wanted.map((file) => `${service}/${file}`).filter((file) => !tracked.includes(file)),
    );
    expect(services.length).toBeGreaterThan(0);
    expect(missing).toEqual([]);
  });

  test("SQL stands in store.ts and migrations only", () => {
    const elsewhere = product.filter(
      (file) => MODULES.test(file) && !/(^|\/|-)store\.ts$/.test(file) && !/\/bench\//.test(file),
    );
    expect(offenders(elsewhere, /["'`]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\s/)).toEqual([]);
  });
});

describe("laws", () => {
  const modules = product.filter((file) => MODULES.test(file));

  test("no module knows its topology", () => {
    expect(offenders(modules, /allInOne|all-in-one|isSplit|singleProcess|isLocal\b/)).toEqual([]);
  });

  test("the runtime alone reads bodies of requests", () => {
    const elsewhere = product.filter((file) => !/^(packages\/runtime|apps\/simulator)\//.test(file));
    expect(offenders(elsewhere, /addContentTypeParser|@fastify\/multipart|busboy/)).toEqual([]);
  });

  test("the environment is read by launchers only", () => {
    const launchers =
      /(\/main\.ts|\/split\.ts|packages\/runtime\/src\/run\.ts)$|\/src\/test\/|^(packages\/embedded|examples|scripts|test)\//;
    expect(
      offenders(
        code.filter((file) => !launchers.test(file) && !isTest(file)),
        /process\.env/,
      ),
    ).toEqual([]);
  });

  test("only the runner ends the process", () => {
    const runners = /packages\/runtime\/src\/run\.ts$|\/main\.ts$|^scripts\//;
    expect(
      offenders(
        product.filter((file) => !runners.test(file)),
        /process\.exit\(/,
      ),
    ).toEqual([]);
  });

  test("no floating point touches money", () => {
    const arithmetic =
      /(parseFloat|toFixed|Math\.(ceil|round|floor))\(.*(price|cost|credit|spend|amount|usd|charge)/i;
    expect(offenders(product, arithmetic)).toEqual([]);
  });

  test("no driver is changed for the whole process", () => {
    expect(
      offenders(product, /setTypeParser\(|process\.removeAllListeners|Object\.assign\(globalThis/),
    ).toEqual([]);
  });

  test("no error is swallowed without a word", () => {
    expect(offenders(code, /catch *(\([^)]*\))? *\{ *\}/)).toEqual([]);
  });

  test("an HTTP app that listens is closed with its idle connections, so that no stop waits for them", () => {
    const listening = code.filter((file) => /createHttpApp\([\s\S]*\.listen\(/.test(read(file)));
    const ours = listening.filter((file) => file !== "packages/runtime/src/service-http.ts");
    expect(ours.length).toBeGreaterThan(10);
    expect(offenders(ours, /\bapp\.close\(\)/)).toEqual([]);
  });

  test("nothing is left for later, and every test runs", () => {
    const self = "test/tidy.test.ts";
    const others = code.filter((file) => file !== self);
    expect(offenders(others, /\b(TODO|FIXME|XXX)\b/)).toEqual([]);
    expect(offenders(others, /\b(describe|it|test)\.(only|skip|todo)\b|\bx(it|describe)\(/)).toEqual([]);
  });

  test("any, non-null assertions and ts-ignore are not used", () => {
    expect(offenders(product, /:\s*any\b|\bas any\b|@ts-(ignore|expect-error|nocheck)/)).toEqual([]);
  });
});

describe("the repository", () => {
  test("names every version exactly and once", () => {
    const versions = read("pnpm-workspace.yaml").split("catalog:")[1]?.split("\n\n")[0] ?? "";
    const ranges = versions
      .split("\n")
      .filter((line) => /:\s/.test(line) && !/: \d+\.\d+\.\d+(-[a-z0-9.]+)?$/.test(line));
    expect(ranges).toEqual([]);
    const manifests = tracked.filter((file) => basename(file) === "package.json");
    const loose = manifests.flatMap((file) => {
      const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = JSON.parse(read(file));
      return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => version !== "catalog:" && version !== "workspace:*")
        .map(([name, version]) => `${file}: ${name} ${version}`);
    });
    expect(loose).toEqual([]);
  });

  test("is under one licence, and each package says so", () => {
    expect(read("LICENSE")).toContain("Apache License\n                           Version 2.0");
    const manifests = tracked.filter((file) => basename(file) === "package.json");
    expect(manifests.filter((file) => JSON.parse(read(file)).license !== "Apache-2.0")).toEqual([]);
  });

  test("holds no machine path and no secret of ours", () => {
    const text = tracked.filter((file) => !/pnpm-lock\.yaml$|\.(png|webp|jpe?g|mp4)$/.test(file));
    expect(offenders(text, /(^|[^A-Za-z.])\/(w[o]rk|h[o]me|r[o]ot)\/[a-z.]/)).toEqual([]);
    expect(offenders(text, /gr_(live|mgmt)_[0-9A-Za-z]{36}/)).toEqual([]);
  });

  test("every command that README names exists", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...read("README.md").matchAll(/(?:^|`|… )npm (?:run )?([a-z]+(?::[a-z]+)?)/gm)].map(
      ([, name = ""]) => name,
    );
    expect(
      named.filter((name) => scripts[name] === undefined && !["install", "init"].includes(name)),
    ).toEqual([]);
  });

  test("a command to paste runs TypeScript through the bootstrap, whatever Node there is", () => {
    const pasted = tracked
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) => [...read(file).matchAll(/^```sh$([\s\S]*?)^```$/gm)].map(([, block = ""]) => block));
    expect(pasted.filter((block) => /\bnode (?!scripts\/bootstrap\.mjs)\S+\.ts\b/.test(block))).toEqual([]);
  });

  test("docs/operations/ has a row for every setting, and for no other", () => {
    const settings = new Set(
      product.flatMap((file) =>
        [
          ...read(file).matchAll(
            /^\s+([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*): *(?:z\b|port\(|milliseconds\(|count\(|perSecond\(|httpUrl\(|baseUrl\(|postgresConfig)/gm,
          ),
        ].map(([, name = ""]) => name),
      ),
    );
    const documented = tracked
      .filter((file) => /^docs\/operations(\/|\.md$)/.test(file))
      .flatMap((file) => [...read(file).matchAll(/^\| `([A-Z][A-Z0-9_]+)`/gm)].map(([, name = ""]) => name));
    expect(settings.size).toBeGreaterThan(20);
    expect(documented.sort()).toEqual([...settings].sort());
  });

  test("each of the faults F1 to F25 has a test that exists", () => {
    const rows = read("test/chaos/README.md")
      .split("\n")
      .filter((line) => /^\| (F\d+ )?\|/.test(line));
    const faults = rows.flatMap((row) => /^\| (F\d+) /.exec(row)?.[1] ?? []);
    expect(faults).toEqual(Array.from({ length: 25 }, (_, index) => `F${index + 1}`));
    const lost = rows.filter((row) => {
      const [, file = "", title = ""] = /\| `([^`]+)`: (.+) \|$/.exec(row) ?? [];
      return !tracked.includes(file) || title === "" || !read(file).includes(title);
    });
    expect(lost).toEqual([]);
  });

  test("docs/decisions/README.md has a row for each decision, with its title, date and status", () => {
    const records = tracked.filter((file) => /^docs\/decisions\/\d{4}-/.test(file)).sort();
    const rows = records.map((file) => {
      const text = read(file).replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
      const [, number, title] = /^# (\d+)\. (.+)$/m.exec(text) ?? [];
      const [, date, status] = /^Date: (\d{4}-\d\d-\d\d)\. Status: ([^.]+)\./m.exec(text) ?? [];
      expect(basename(file).startsWith(`${number}-`.padStart(5, "0"))).toBe(true);
      return `| [${number}](${basename(file)}) | ${title} | ${date} | ${status} |`;
    });
    const index = read("docs/decisions/README.md").split("\n");
    expect(index.filter((line) => line.startsWith("| ["))).toEqual(rows);
  });

  test("each decision states the figure that decided it, or the reason why there is none", () => {
    const records = tracked.filter((file) => /^docs\/decisions\/\d{4}-/.test(file));
    expect(
      records.filter((file) => !/^\*\*(Deciding figures?\.|No figure:)\*\* \S/m.test(read(file))),
    ).toEqual([]);
  });

  test("every file that a document links to exists", () => {
    const documents = tracked.filter((file) => file.endsWith(".md"));
    const broken = documents.flatMap((file) =>
      [...read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !existsSync(join(ROOT, dirname(file), target)))
        .map((target) => `${file} → ${target}`),
    );
    expect(broken).toEqual([]);
  });
});
