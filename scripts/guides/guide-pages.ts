// The guides in docs/ as files for readers of a running router: each as Markdown and as a page, and /llms.txt. They are
// part of the console's build, since an image is built without docs/. Generated, never edited by hand.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Marked } from "marked";
import { ROOT, ToolError } from "../tool.ts";

const PUBLIC = join(ROOT, "apps/console/public");
const FOLDER = "docs";
/** The only file of the folder that is written by hand. */
const STYLE = "docs/guide.css";

interface Guide {
  /** File in docs/, without `.md`. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
}

const GUIDES: readonly Guide[] = [
  { name: "api", title: "Guide", about: "requests in curl, Python and JavaScript, money, keys, repeats" },
  {
    name: "api-videos",
    title: "Videos and webhooks",
    about: "videos as jobs, messages about the end of a request",
  },
  { name: "clients", title: "Clients and agents", about: "settings of agents, chat programs and libraries" },
  { name: "errors", title: "Errors", about: "all errors, their causes and remedies" },
];
const NAMES = new Set(GUIDES.map(({ name }) => name));
const LINK = /\[([^\][]{0,300})\]\(([^()#\s]{0,300})(#[^()#\s]{0,100})?\)/g;

/** Returns the content of each file, by its path in the build. */
export async function guidePages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const guide of GUIDES) {
    const text = withinGuides(await readFile(join(ROOT, "docs", `${guide.name}.md`), "utf8"));
    pages.set(`${FOLDER}/${guide.name}.md`, text);
    pages.set(`${FOLDER}/${guide.name}.html`, await pageOf(guide, text));
  }
  return pages.set("llms.txt", overview());
}

export async function writeGuidePages(): Promise<void> {
  for (const [file, text] of await guidePages()) {
    await mkdir(dirname(join(PUBLIC, file)), { recursive: true });
    await writeFile(join(PUBLIC, file), text);
  }
}

/** @throws ToolError that names the files which `npm run generate` would change */
export async function checkGuidePages(): Promise<void> {
  const pages = await guidePages();
  const stale: string[] = [];
  for (const [file, text] of pages)
    if ((await readFile(join(PUBLIC, file), "utf8").catch(() => "")) !== text) stale.push(file);
  const files = await readdir(join(PUBLIC, FOLDER)).catch(() => []);
  stale.push(
    ...files.map((file) => `${FOLDER}/${file}`).filter((file) => file !== STYLE && !pages.has(file)),
  );
  if (stale.length === 0) return;
  throw new ToolError(`apps/console/public is not current; run "npm run generate":\n${stale.join("\n")}`);
}

/** Removes links to files that a running router does not have; their text stays. */
function withinGuides(text: string): string {
  return text.replaceAll(LINK, (link, label: string, target: string) => {
    const isKept = target === "" || /^https?:/.test(target) || NAMES.has(target.replace(/\.md$/, ""));
    return isKept ? link : label;
  });
}

async function pageOf({ name, title }: Guide, text: string): Promise<string> {
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const id = inner
          .replaceAll(/<[^<>]{1,200}>/g, "")
          .toLowerCase()
          .replaceAll(/[^a-z0-9 -]/g, "")
          .replaceAll(" ", "-");
        return `<h${depth} id="${id}">${inner}</h${depth}>\n`;
      },
    },
  });
  const body = await marked.parse(text.replaceAll(/\]\(([\w-]{1,100})\.md(#[^()]{0,100})?\)/g, "]($1$2)"));
  const links = [
    ...GUIDES.map((guide) => `<a href="/docs/${guide.name}">${guide.title}</a>`),
    '<a href="/docs">Reference</a>',
    `<a href="/docs/${name}.md">This page as Markdown</a>`,
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Generation Router: ${title}</title>
<link rel="stylesheet" href="/${STYLE}">
</head>
<body>
<nav>${links.join(" ")}</nav>
<main>
${body}</main>
</body>
</html>
`;
}

/** Returns the table of contents for language models, in the form of llmstxt.org. */
function overview(): string {
  const lines = GUIDES.map(({ name, title, about }) => `- [${title}](/docs/${name}.md): ${about}`);
  return `# Generation Router

> One HTTP API for image, video and text models, with prepaid credits, API keys with spend limits, and exact money. The routes under /v1/compat follow OpenAI's API.

## Documents

${lines.join("\n")}
- [OpenAPI description](/openapi.json): every route and field
- [Models](/v1/compat/models): the models of this router
`;
}
