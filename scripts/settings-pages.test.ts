// Each setting has a row with its default and its text, and each link of a row leads to a heading that exists.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { allSettings, checkSettingsPages, settingsPages } from "./settings-pages.ts";
import { ROOT } from "./tool.ts";

test("docs/operations/ is current", checkSettingsPages);

test("defaults are those of the schemas, unless a text explains a computed one", () => {
  const byName = new Map(allSettings().map(({ name, byDefault }) => [name, byDefault]));
  expect(byName.get("PORT")).toBe("`8080`");
  expect(byName.get("TRUSTED_PROXIES")).toBe("–");
  expect(byName.get("STATEMENT_TOLERANCE_USD")).toBe("`0.01`");
  expect(byName.get("RATE_LIMIT_ACCOUNT_TEXT_PER_SECOND")).toBe("five times `RATE_LIMIT_TEXT_PER_SECOND`");
});

test("each link to a heading of docs/operations.md finds it", () => {
  const manual = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, "")
      .replaceAll(" ", "-");
  const anchors = [...manual.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));
  const pages = [...settingsPages().values()].join("\n");
  const used = [...pages.matchAll(/operations\.md#([^)]+)\)/g)].map(([, anchor = ""]) => anchor);
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
});
