// The guides for readers of a running router are those of docs/, and each link in them leads to a place that exists.
import { expect, test } from "@jest/globals";
import { checkGuidePages, guidePages } from "./guide-pages.ts";

test("the pages of the guides are current", checkGuidePages);

test("each link leads to a page of the router, and each anchor to a heading", async () => {
  const pages = await guidePages();
  const paths = [...pages.keys()].map((file) => `/${file.replace(/\.html$/, "")}`);
  const broken: string[] = [];
  for (const [file, text] of pages) {
    if (!file.endsWith(".html")) continue;
    for (const [, target = ""] of text.matchAll(/(?:href|src)="([^"]*)"/g)) {
      const { origin, pathname, hash } = new URL(target, `http://router/${file}`);
      if (origin !== "http://router") continue;
      const known = [...paths, "/docs", "/docs/guide.css", "/openapi.json"].includes(pathname);
      const linked = pages.get(`${pathname.slice(1)}.html`) ?? text;
      if (!known || (hash !== "" && !linked.includes(`id="${hash.slice(1)}"`)))
        broken.push(`${file} → ${target}`);
    }
  }
  expect(broken).toEqual([]);
  expect(pages.get("docs/clients.md")).not.toContain("](../");
});
