// Guarantees of the build: the size of a browser's first load, and a style for every part.
import { readdir, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { buildConsole } from "./build.ts";

/** Bytes of the first load on the wire, with the font. The first page may be any; new visitors see the sign-in page. */
const FIRST_LOAD_MOST = 250_000;
const MANTINE = dirname(createRequire(import.meta.url).resolve("@mantine/core/styles.css"));

describe("the build of the web application", () => {
  let folder: string;
  let files: string[];
  const text = (name: string) => readFile(join(folder, "assets", name), "utf8");
  /** Compressed, if the build has compressed the file. */
  const sizeOf = async (name: string) =>
    (await stat(join(folder, "assets", files.includes(`${name}.br`) ? `${name}.br` : name))).size;

  beforeAll(async () => {
    folder = await buildConsole(() => undefined);
    files = await readdir(join(folder, "assets"));
  });

  test("shows its first page after 250 kB", async () => {
    const index = await readFile(join(folder, "index.html"), "utf8");
    const loaded = new Set([...index.matchAll(/assets\/([\w-]+\.(?:js|css))/g)].map(([, name = ""]) => name));
    expect(loaded.size).toBeGreaterThan(1);
    expect(index).toMatch(/<meta name="description" content="[^"]{20,}"/);
    const page = files.filter((name) => /^sign-in-.*\.js$/.test(name));
    expect(page).toHaveLength(1);
    for (const name of page) loaded.add(name);
    // A loop over a set includes elements that are added meanwhile.
    for (const name of loaded) {
      if (!name.endsWith(".js")) continue;
      for (const [, needed = ""] of (await text(name)).matchAll(
        /(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g,
      )) {
        loaded.add(needed);
      }
    }
    const fonts = files.filter((name) => /^inter-.*\.woff2$/.test(name));
    expect(fonts).toHaveLength(1);
    const sizes = await Promise.all([...loaded, ...fonts].map(sizeOf));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_LOAD_MOST);
  });

  test("leaves light and dark colours to the browser", async () => {
    const styles = (await Promise.all(files.filter((name) => name.endsWith(".css")).map(text))).join("\n");
    expect(styles).toContain("light-dark(");
    expect(styles).not.toContain("--lightningcss-");
  });

  test("has a rule for each class of Mantine that it uses", async () => {
    const classes = async (names: readonly string[]) =>
      new Set(
        (await Promise.all(names.map(text))).flatMap((found) => found.match(/\bm_[0-9a-f]{6,8}\b/g) ?? []),
      );
    const used = await classes(files.filter((name) => name.endsWith(".js")));
    const ruled = await classes(files.filter((name) => name.endsWith(".css")));
    const all = new Set((await readFile(join(MANTINE, "styles.css"), "utf8")).match(/\bm_[0-9a-f]{6,8}\b/g));
    expect(used.size).toBeGreaterThan(100);
    expect([...used].filter((name) => all.has(name) && !ruled.has(name))).toEqual([]);
  });
});
