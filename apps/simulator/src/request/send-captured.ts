// Sends captured answers: the body of the file, with this request's values instead of the captured ones. No member is
// added. A header names the file, so that tests can prove that a provider has sent such an error.
import type { FastifyReply } from "fastify";
import { type CapturedAnswer, capturedAnswer } from "../captured-answers.ts";

export const CAPTURED_AS = "x-captured-as";

/** Values by the path of their member: `error.message`, `detail.0.loc`. */
export type Values = Readonly<Record<string, unknown>>;

export function sendCaptured(reply: FastifyReply, name: string, values: Values = {}): FastifyReply {
  return send(reply, capturedAnswer(name), values);
}

export function send(
  reply: FastifyReply,
  { name, status, body }: CapturedAnswer,
  values: Values = {},
): FastifyReply {
  reply.code(status).header(CAPTURED_AS, name);
  return body === undefined ? reply.send() : reply.send(withValues(body, values));
}

/** Returns a copy of the body. A path that the body lacks changes nothing. */
export function withValues(body: unknown, values: Values): unknown {
  const copy = structuredClone(body);
  for (const [path, value] of Object.entries(values)) replaceAt(copy, path.split("."), value);
  return copy;
}

function replaceAt(node: unknown, [name, ...deeper]: readonly string[], value: unknown): void {
  if (name === undefined || typeof node !== "object" || node === null || !(name in node)) return;
  const members = node as Record<string, unknown>;
  if (deeper.length === 0) members[name] = value;
  else replaceAt(members[name], deeper, value);
}
