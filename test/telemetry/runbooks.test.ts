// Runbooks: each alert has one, with the same three sections, and no runbook is without an alert.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { alerts, dashboards, kustomization } from "./monitoring-files.ts";

const RUNBOOKS = new URL("../../docs/runbooks/", import.meta.url);
const kebab = (name: string) => name.replace(/(?<!^)[A-Z]/g, "-$&").toLowerCase();
const read = (file: string) => readFileSync(new URL(file, RUNBOOKS), "utf8");

test("every alert has a name of its own, a severity, a sentence, and its runbook", () => {
  expect(alerts.length).toBeGreaterThan(15);
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  for (const { alert, labels, annotations } of alerts) {
    expect(["page", "ticket"]).toContain(labels.severity);
    expect(annotations.summary).toMatch(/^[A-Z].*\.$/);
    expect(annotations.runbook).toBe(`docs/runbooks/${kebab(alert)}.md`);
    const [heading, ...sections] = [...read(`${kebab(alert)}.md`).matchAll(/^##? (.*)$/gm)].map(
      ([, title]) => title,
    );
    expect([heading, ...sections]).toEqual([alert, "Meaning", "Checks", "Actions"]);
  }
});

test("every runbook is of an alert, and listed", () => {
  const files = readdirSync(RUNBOOKS).filter((file) => file !== "README.md");
  expect(files.toSorted()).toEqual(alerts.map(({ alert }) => `${kebab(alert)}.md`).toSorted());
  const listed = [...read("README.md").matchAll(/\]\(([a-z-]+\.md)\)/g)].map(([, file]) => file);
  expect(listed.toSorted()).toEqual(files.toSorted());
});

test("every dashboard is deployed, and its panels are told apart", () => {
  const deployed = [...kustomization.matchAll(/dashboards\/([a-z-]+\.json)/g)].map(([, file]) => file);
  expect(deployed.toSorted()).toEqual(dashboards.map(({ file }) => file).toSorted());
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
  for (const { panels } of dashboards) expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});
