// First load prepares the start page of the build: fonts with the characters and weights of the pages only, and links that load
// files before the application needs them.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import subsetFont from "subset-font";
import type { HtmlTagDescriptor, Plugin, Rolldown } from "vite";
import { APPLICATION } from "./code-groups.ts";

const { resolve } = createRequire(import.meta.url);

/** Latin letters, and the other characters that pages draw. */
const CHARACTERS = `${range(0x20, 0x7e)}${range(0xa0, 0xff)}–—‘’“”…•·−×→←↑↓≤≥€⌘`;

const FONTS = [
  {
    name: "inter",
    file: resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"),
    features: ["kern", "tnum"],
    axes: { wght: { min: 400, max: 600 } },
    rule: { "font-family": '"Inter Variable"', "font-weight": "400 600", "font-display": "swap" },
  },
  {
    name: "jetbrains-mono",
    file: resolve("@fontsource/jetbrains-mono/files/jetbrains-mono-latin-400-normal.woff2"),
    features: [],
    axes: undefined,
    // Code is shown at once: a late font would move it.
    rule: { "font-family": '"JetBrains Mono"', "font-weight": "400", "font-display": "optional" },
  },
] as const;
const FIRST_FONT = "inter";
/** Boot adds these styles, so they do not delay the painting of the waiting page, which has rules of its own. */
const FIRST_STYLES = "first-styles";

export function firstLoad(): Plugin {
  return {
    name: "first-load",
    async buildStart() {
      if (this.meta.watchMode) return;
      for (const { name, file, features, axes } of FONTS) {
        const source = await subsetFont(await readFile(file), CHARACTERS, {
          targetFormat: "woff2",
          keepFeatures: [...features],
          noHinting: true,
          ...(axes && { variationAxes: axes }),
        });
        this.emitFile({ type: "asset", name: `${name}.woff2`, source });
      }
    },
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle }) => [
        fontRules(bundle),
        ...(bundle === undefined
          ? []
          : [
              link({ rel: "preload", as: "font", type: "font/woff2", href: assetOf(FIRST_FONT, bundle) }),
              link({ rel: "preload", as: "style", href: assetOf(FIRST_STYLES, bundle) }),
              // Fonts and styles come first: they are small.
              ...applicationFiles(bundle).map((file) =>
                link({ rel: "modulepreload", href: `/${file}`, fetchpriority: "low" }),
              ),
            ]),
      ],
    },
  };
}

function range(from: number, to: number): string {
  return String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

function link(attrs: Record<string, string>): HtmlTagDescriptor {
  return { tag: "link", attrs: { ...attrs, crossorigin: true }, injectTo: "head" };
}

/** Rules of the fonts, in the page: browsers find the fonts before the style sheet. */
function fontRules(bundle: Rolldown.OutputBundle | undefined): HtmlTagDescriptor {
  const rules = FONTS.map(({ name, file, rule }) => {
    const address = bundle === undefined ? `/@fs${file}` : assetOf(name, bundle);
    const all = { ...rule, src: `url("${address}") format("woff2")` };
    return `@font-face{${Object.entries(all)
      .map(([property, value]) => `${property}:${value}`)
      .join(";")}}`;
  });
  return { tag: "style", children: rules.join(""), injectTo: "head" };
}

/** Address of a font or a style sheet. */
function assetOf(name: string, bundle: Rolldown.OutputBundle): string {
  const found = Object.keys(bundle).find(
    (file) => file.startsWith(`assets/${name}-`) && !file.endsWith(".js"),
  );
  if (found === undefined) throw new Error(`The build has no file ${name}.`);
  return `/${found}`;
}

/** The application's file, and the files that it imports. */
function applicationFiles(bundle: Rolldown.OutputBundle): readonly string[] {
  const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
  const application = chunks.find(({ name }) => name === APPLICATION);
  if (application === undefined) throw new Error(`The build has no file ${APPLICATION}.`);
  const files = new Set([application.fileName]);
  // A loop over a set includes elements that are added meanwhile.
  for (const file of files) {
    for (const needed of chunks.find(({ fileName }) => fileName === file)?.imports ?? []) files.add(needed);
  }
  return [...files];
}
