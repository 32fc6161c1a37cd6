// Rules of every answer to any request: only requested failures, our envelope around each refusal, a
// status and a body by the description, no secret, and no content for a deleted key.
import type { z } from "zod";
import type { FuzzCase } from "./fuzz-case.ts";
import { isAskedFor } from "./known-values.ts";
import type { CaseAnswer, Outcome } from "./send-case.ts";
import type { World } from "./world.ts";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Statuses that may follow any request: not HTTP, no such path or method, too slow, too large. */
const ANYWHERE = new Set([400, 401, 404, 405, 408, 413, 415, 429, 431]);
/** Characters of a part of a refusal to any request, at most. */
const LONGEST = 2_000;
const LEAK =
  /\bat .*\.ts:\d|node:internal|postgres(ql)?:\/\/|\.pg\/|\bECONN|SELECT |INSERT INTO|x-gr-principal/;

/** Returns the fault; undefined if there is none. */
export function judge(one: FuzzCase, outcome: Outcome, world: World): string | undefined {
  const { operation, conduct } = one;
  const { sent, answers, failure } = outcome;
  if (failure !== undefined) return conduct === "leaves" ? undefined : `no answer: ${failure}`;
  for (const answer of answers) {
    const complaint = judgeAnswer(answer, outcome, world);
    if (complaint !== undefined) return complaint;
    // Changed bytes may have hidden the key, and some routes need none.
    if (conduct !== "raw" && usesDeleted(answer, outcome, world)) return "a deleted key works";
  }
  const [answer] = answers;
  if (operation === undefined || conduct !== "patient" || answer === undefined) return undefined;
  const { status, text } = answer;
  if (!operation.statuses.has(status) && !ANYWHERE.has(status))
    return `status ${status}, which is not described`;
  if (status >= 200 && status < 300) {
    const complaint = complaintOfAccepted(one);
    if (complaint !== undefined) return complaint;
  }
  const isJson = String(answer.headers["content-type"]).startsWith("application/json");
  const wanted = operation.answers.get(status);
  if (wanted === undefined || !isJson || sent.method === "HEAD") return undefined;
  const { error } = wanted.safeParse(JSON.parse(text));
  return error === undefined ? undefined : `not as described: ${error.message}`;
}

/** Checks that an accepted request is valid by the description, so that a client that follows it misses no function. */
function complaintOfAccepted({ operation, headers, body }: FuzzCase): string | undefined {
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  if (operation?.accepts === undefined || body === undefined || !isJson) return undefined;
  const value: unknown = JSON.parse(body.toString());
  const { error } = operation.accepts.safeParse(value);
  if (error === undefined || error.issues.every((issue) => isNothing(issue, value))) return undefined;
  return `accepted, and not as described: ${error.message}`;
}

function judgeAnswer(
  { status, headers, text }: CaseAnswer,
  { sent }: Outcome,
  world: World,
): string | undefined {
  if (status === 100) return undefined;
  if (status >= 500 && !isAskedFor(status, sent.text) && !isLate(status, text))
    return `status ${status}, and no fault was asked for`;
  if (!ID.test(String(headers["x-request-id"] ?? ""))) return "no request id";
  if (LEAK.test(text)) return `it shows what is inside: ${LEAK.exec(text)}`;
  const leaked = world.secrets.find((secret) => text.includes(secret) && !sent.text.includes(secret));
  if (leaked !== undefined) return "it shows a key";
  if (status < 400 || sent.method === "HEAD" || text === "") return undefined;
  return complaintOf(text);
}

function usesDeleted({ status }: CaseAnswer, { sent }: Outcome, world: World): boolean {
  const isPublic = /^\/+(media|openapi\.json)/.test(sent.path) || status === 204;
  return status < 300 && !isPublic && world.wasDeleted(sent.authorization, sent.startedAt);
}

/**
 * A part of the router did not answer in time, as on a very slow machine: reported as such, and counted in the tally.
 */
function isLate(status: number, text: string): boolean {
  return status === 503 && (text === "" || /"code":"(service|billing)_unavailable"/.test(text));
}

/** Returns the fault of an error. */
function complaintOf(text: string): string | undefined {
  const { error, ...rest } = JSON.parse(text) as { error?: Record<string, unknown> };
  if (error === undefined || Object.keys(rest).length > 0) return "no envelope";
  const { message, type, param, code, ...more } = error;
  if (Object.keys(more).length > 0) return `unknown parts of the error: ${Object.keys(more)}`;
  if (typeof message !== "string" || message.length < 10) return "no message";
  if (message.length > LONGEST) return `a message of ${message.length} characters`;
  if (typeof type !== "string") return `type ${type}`;
  if (param !== undefined && (typeof param !== "string" || param.length > LONGEST)) return `param ${param}`;
  return code === undefined || typeof code === "string" ? undefined : `code ${code}`;
}

/** An unknown field with null restricts nothing, and is accepted everywhere. */
function isNothing(issue: z.core.$ZodIssue, value: unknown): boolean {
  if (issue.code !== "unrecognized_keys" || issue.path.length > 0) return false;
  return issue.keys.every((key) => (value as Readonly<Record<string, unknown>>)[key] === null);
}
