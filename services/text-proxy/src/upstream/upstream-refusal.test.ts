// The client's error for each error answer of an upstream.
import { CAPTURED_ANSWERS } from "@gr/simulator/captured-answers";
import { describe, expect, test } from "@jest/globals";
import { refusalOf } from "./upstream-refusal.ts";

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  isCut: false,
  generationId: "",
});
const read = (status: number, body: unknown, headers = {}) =>
  refusalOf(answer(status, body, headers), (text) => text.replaceAll("secret", "[redacted]"));
const envelope = (message: string, more: object = {}) => ({ error: { message, ...more } });

const EXPECTED = {
  account: { reason: "provider_unavailable", isOurFault: true, mayServeElsewhere: true },
  moderation: { reason: "content_policy_violation", isOurFault: false, mayServeElsewhere: false },
  load: { reason: "provider_unavailable", isOurFault: false, mayServeElsewhere: true },
  request: { reason: "rejected_by_provider", isOurFault: false, mayServeElsewhere: false },
  server: { reason: "provider_error", isOurFault: false, mayServeElsewhere: false },
  /** No host of the gateway meets the request's demands. */
  host: { reason: "rejected_by_provider", isOurFault: false, mayServeElsewhere: true },
  /** The name is from the catalogue, and no key is at fault. */
  model: { reason: "provider_error", isOurFault: false, mayServeElsewhere: true },
};
/** Providers of captured answers that also serve text, themselves or by their compatible API. */
const TEXT = ["openai", "openrouter", "xai", "gemini", "together"];
const CAPTURED = CAPTURED_ANSWERS.filter(
  ({ name, at, status }) =>
    TEXT.includes(name.split("/")[0] ?? "") && status >= 400 && (at === "submit" || name.startsWith("xai/")),
);

describe("a captured error answer", () => {
  test.each(CAPTURED.map((captured) => [captured.name, captured] as const))("%s", (name, captured) => {
    const subject = /unknown-model|not-found/.test(name)
      ? "model"
      : name.endsWith("/no-vision")
        ? "host"
        : captured.about;
    const { reason, ...expected } = EXPECTED[subject];
    const refusal = read(captured.status, captured.body ?? "");
    expect(refusal.error.reason).toBe(reason);
    expect(refusal).toMatchObject(expected);
    if (reason === "provider_unavailable") expect(refusal.error.retryAfterMs).toBeGreaterThan(0);
  });
});

describe("an error answer", () => {
  test.each([
    [400, envelope("bad"), "rejected_by_provider"],
    [413, envelope("large"), "rejected_by_provider"],
    [422, envelope("odd"), "rejected_by_provider"],
    [400, envelope("no", { code: "content_policy_violation" }), "content_policy_violation"],
    [
      400,
      envelope("no", { metadata: { error_type: "content_policy_violation" } }),
      "content_policy_violation",
    ],
    [
      403,
      envelope("no", { metadata: { reasons: ["violence"], flagged_input: "…" } }),
      "content_policy_violation",
    ],
    [401, envelope("key"), "provider_unavailable"],
    [402, envelope("credit"), "provider_unavailable"],
    [403, envelope("denied"), "provider_unavailable"],
    [404, envelope("none"), "provider_error"],
    [404, envelope("No endpoints found that match your max price."), "rejected_by_provider"],
    [408, envelope("slow"), "provider_timeout"],
    [504, envelope("slow"), "provider_timeout"],
    [429, envelope("many"), "provider_unavailable"],
    [503, envelope("none"), "provider_unavailable"],
    [500, envelope("oops"), "provider_error"],
    [529, envelope("oops"), "provider_error"],
    [302, "", "provider_error"],
  ])("%i %j is %s", (status, body, reason) => {
    expect(read(status, body).error.reason).toBe(reason);
  });

  test("about our own key or credit is our fault and says nothing of it", () => {
    for (const status of [401, 402, 403]) {
      const { error, isOurFault } = read(status, envelope("key sk-123 has no credit"));
      expect(isOurFault).toBe(true);
      expect(error.message).not.toContain("key");
    }
    expect(read(400, envelope("bad")).isOurFault).toBe(false);
  });

  test("about the request keeps the upstream's words, bounded and without secrets", () => {
    expect(read(400, envelope("max_tokens is too large, secret")).error.message).toBe(
      "max_tokens is too large, [redacted]",
    );
    expect(read(400, envelope("x".repeat(10_000))).error.message).toHaveLength(500);
    expect(read(400, "<html>").error.message).toContain("refused the request");
  });

  test("says when to try again, within a minute", () => {
    expect(read(429, envelope("many"), { "retry-after": "7" }).error.retryAfterMs).toBe(7_000);
    expect(read(429, envelope("many"), { "retry-after": "99999" }).error.retryAfterMs).toBe(60_000);
    expect(read(503, envelope("none"), { "retry-after": "soon" }).error.retryAfterMs).toBe(1_000);
  });

  test.each([
    [500, envelope("oops"), "failed"],
    [408, envelope("slow"), "failed"],
    [502, "<html>Bad gateway</html>", "unknown"],
    [504, "", "unknown"],
    [408, "", "unknown"],
    [503, "", "refused"],
    [400, "", "refused"],
    [429, "", "refused"],
    [204, "", "unknown"],
  ])("%i %j says that it was %s", (status, body, outcome) => {
    expect(read(status, body).outcome).toBe(outcome);
  });
});
