// Guarantees of the route table: the table and its documents match.
import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { z } from "zod";
import type { ConsoleRoute } from "./console-route.ts";
import { consoleRoutes } from "./console-routes.ts";

test("docs/console-api.md lists every route as the table has it, and no other", async () => {
  const text = await readFile(new URL("../../../docs/console-api.md", import.meta.url), "utf8");
  const listed = text.split("\n").filter((line) => /^\| `(GET|POST|PATCH|DELETE) \/console\/api/.test(line));
  const rows = Object.values<ConsoleRoute>(consoleRoutes).map(
    ({ method, path, status, access, summary }) =>
      `| \`${method} ${path}\`${status === undefined ? "" : ` ${status}`} | ${access} | ${summary} |`,
  );
  expect(listed).toEqual(rows);
});

test("a route takes a role exactly where it names an account", () => {
  for (const { path, access } of Object.values<ConsoleRoute>(consoleRoutes)) {
    const isRole = !["open", "person", "operator"].includes(access);
    expect([path, isRole]).toEqual([path, path.includes("/:account/")]);
    expect([path, access === "operator"]).toEqual([path, path.includes("/operator/")]);
  }
});

test("a body whose field is a restriction or an amount of money refuses an unknown field", () => {
  const words = /"(spend_limit|amount|overlap_hours|is_suspended)":/;
  const bodies = Object.values<ConsoleRoute>(consoleRoutes).flatMap(({ method, path, body }) =>
    body !== undefined &&
    words.test(JSON.stringify(z.toJSONSchema(body, { io: "input", unrepresentable: "any" })))
      ? [[`${method} ${path}`, body] as const]
      : [],
  );
  expect(bodies.length).toBeGreaterThanOrEqual(7);
  for (const [route, body] of bodies) {
    for (const field of ["spend_limt", "max_budget"]) {
      const issues = body.safeParse({ [field]: 5 }).error?.issues ?? [];
      const refused = issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []));
      expect([route, refused]).toEqual([route, [field]]);
    }
  }
});
