// Guarantees of the build: the size of a browser's first load, and a style for every part.
import { readdir, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { buildConsole } from "./build.ts";

/** Bytes on the wire until a browser without a cache shows a page: scripts, styles, both fonts. */
const FIRST_LOAD_MOST = 250_000;
const MANTINE = dirname(createRequire(import.meta.url).resolve("@mantine/core/styles.css"));

/** Sources of all pages, beside the group of the application. */
const FIRST_SOURCES = ["index.html", "src/first-styles.ts"];
/** A page without the styles of all others, as Home. */
const SIGN_IN = "src/pages/sign-in/sign-in.tsx";
/** Pages without the frame of an account. */
const OPEN_PAGES = ["links", "passwords", "sign-in", "sign-up"].map(
  (name) => `src/pages/sign-in/${name}.tsx`,
);
/** Parts of a page of which the first view has one, and which load after the page's own file. */
const TABS: Readonly<Record<string, readonly string[]>> = {
  "src/pages/playground/playground.tsx": ["media/media-tab", "text/text-tab", "compare/compare-tab"].map(
    (name) => `src/pages/playground/${name}.tsx`,
  ),
};

interface BuiltFile {
  readonly name?: string;
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

describe("the build of the web application", () => {
  let folder: string;
  let files: string[];
  /** Files of each source. */
  let manifest: Readonly<Record<string, BuiltFile>>;
  const text = (name: string) => readFile(join(folder, "assets", name), "utf8");
  /** Compressed, if the build has compressed the file. */
  const sizeOf = async (name: string) =>
    (await stat(join(folder, "assets", files.includes(`${name}.br`) ? `${name}.br` : name))).size;

  beforeAll(async () => {
    folder = await buildConsole(() => undefined);
    files = await readdir(join(folder, "assets"));
    manifest = JSON.parse(await readFile(join(folder, ".manifest.json"), "utf8"));
  });

  /** Names of the scripts and styles of sources, and of the files that these import. */
  function filesOf(sources: readonly string[]): Set<string> {
    const parts = new Set(sources);
    const names = new Set<string>();
    // A loop over a set includes elements that are added meanwhile.
    for (const source of parts) {
      const built = manifest[source];
      if (built === undefined) throw new Error(`The build has no file of ${source}.`);
      for (const needed of built.imports ?? []) parts.add(needed);
      for (const file of [built.file, ...(built.css ?? [])]) names.add(file.replace("assets/", ""));
    }
    return names;
  }

  /** Key of a file that has no source of its own. */
  function keyOf(group: string): string {
    const found = Object.keys(manifest).filter((key) => manifest[key]?.name === group);
    expect([group, found.length]).toEqual([group, 1]);
    return found[0] ?? "";
  }

  /** Bytes of the start page's files, of groups and sources, and of both fonts. */
  async function bytesOf(...keys: readonly string[]): Promise<number> {
    const fonts = files.filter((name) => name.endsWith(".woff2"));
    expect(fonts).toHaveLength(2);
    const names = [...filesOf([...FIRST_SOURCES, keyOf("all-pages"), ...keys]), ...fonts];
    const sizes = await Promise.all(names.map(sizeOf));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  test("shows each page after 250 kB", async () => {
    const application = manifest[keyOf("all-pages")]?.dynamicImports ?? [];
    const pages = application.filter((source) => source.startsWith("src/pages/"));
    expect(pages.length).toBeGreaterThan(20);
    // Home is in the file of its frame.
    expect(await bytesOf(keyOf("account"))).toBeLessThan(FIRST_LOAD_MOST);
    const larger: string[] = [];
    for (const page of pages) {
      const frame = page.startsWith("src/pages/operator/")
        ? ["src/layout/operator-frame.tsx"]
        : OPEN_PAGES.includes(page)
          ? []
          : [keyOf("account")];
      const styles = page === SIGN_IN ? [] : ["src/later-styles.ts"];
      for (const tab of TABS[page] ?? [page]) {
        const bytes = await bytesOf(...frame, ...styles, page, tab);
        if (bytes > FIRST_LOAD_MOST) larger.push(`${tab}: ${bytes}`);
      }
    }
    expect(larger).toEqual([]);
  });

  test("names the files of all pages in its start page, which has a description", async () => {
    const index = await readFile(join(folder, "index.html"), "utf8");
    const named = new Set([...index.matchAll(/assets\/([\w-]+\.(?:js|css))/g)].map(([, name = ""]) => name));
    const needed = [...filesOf([...FIRST_SOURCES, keyOf("all-pages")])];
    expect(needed.length).toBeGreaterThan(2);
    expect(needed.filter((name) => !named.has(name))).toEqual([]);
    // Boot adds the first styles to the head, and those of other pages and of the theme come after them.
    expect(index).not.toContain('rel="stylesheet"');
    expect(index).toMatch(/<meta name="description" content="[^"]{20,}"/);
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
