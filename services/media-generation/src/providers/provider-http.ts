// ProviderHttp sends requests to one provider. The secret is sent only to the provider's own hosts, and
// never to another address from an answer. A failed exchange becomes a ProviderError with the fact
// whether the job had been accepted.
import { trimSlashes } from "@gr/runtime";
import {
  exchangeFailure,
  type Phase,
  type ReportedFailure,
  safeMessage,
  statusFailure,
} from "./answer-failure.ts";
import { type FormPart, formBody } from "./form-body.ts";
import { jsonBody } from "./json-body.ts";
import {
  type EventReader,
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
  type OutboundStream,
} from "./outbound.ts";
import type { ReportedUsage } from "./provider.ts";
import { ProviderError, type ProviderFailure } from "./provider-error.ts";

export interface ProviderHttpOptions {
  /** Name of the provider in messages. */
  readonly name: string;
  /** Common prefix of all paths: https://api.example/v1 */
  readonly baseUrl: string;
  readonly secret: string;
  /** The header that carries the secret, for example { authorization: `Bearer ${secret}` }. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Pattern of further origins of the provider, for example its regions, where results are polled. */
  readonly moreOrigins?: RegExp;
  readonly outbound: Pick<Outbound, "send" | "open">;
  /** Reads the bill in a body. Absent for a provider that states none. */
  readonly usageOf?: (body: unknown) => ReportedUsage | undefined;
}

/** A streamed answer has no JSON. */
export type ErrorAnswer = Pick<OutboundAnswer, "status" | "header"> & Partial<Pick<OutboundAnswer, "json">>;

export interface ProviderRequest {
  readonly method: OutboundRequest["method"];
  /** A path below the base URL, or a whole address from an answer. */
  readonly to: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly form?: readonly FormPart[];
}

export interface ProviderHttp {
  /**
   * Resolves with any status.
   * @param events reads an answer of server-sent events
   * @throws ProviderError
   */
  send(
    phase: Phase,
    request: ProviderRequest,
    signal: AbortSignal,
    events?: EventReader,
  ): Promise<OutboundAnswer>;
  /** Opens a file at the provider, for reading piece by piece. @throws ProviderError */
  open(to: string, maxBytes: number, signal: AbortSignal): Promise<OutboundStream>;
  /** Returns the failure of an undocumented answer, with the bill in it. @param message the provider's own words */
  failure(phase: Phase, answer: ErrorAnswer, message?: string | null, retryAfterMs?: number): ProviderError;
  /** Returns the failure of a documented error, with the bill in its answer. @param what words of this module */
  failureAs(kind: ProviderFailure, phase: Phase, answer: ErrorAnswer, what: string): ProviderError;
}

export function createProviderHttp(options: ProviderHttpOptions): ProviderHttp {
  const { name, secret, credentials, outbound } = options;
  const baseUrl = trimSlashes(options.baseUrl);
  const home = new URL(baseUrl).origin;
  const isOwn = ({ origin }: URL) => origin === home || options.moreOrigins?.test(origin) === true;

  function addressOf(to: string): string {
    const url = URL.parse(to.startsWith("/") ? baseUrl + to : to);
    if (url !== null && isOwn(url)) return url.href;
    const message = `${name}: its answer leads to another host`;
    throw new ProviderError("failed", message, { accepted: true });
  }

  function billed(failure: ProviderError, answer: ErrorAnswer): ProviderError {
    const usage = options.usageOf?.(answer.json?.());
    return usage === undefined ? failure : failure.billedAs(usage);
  }

  return {
    send: async (phase, { method, to, headers, json, form }, signal, events) => {
      const { body, described } = bodyOf({ json, form });
      const accept = events === undefined ? "application/json" : "text/event-stream";
      const all = { accept, ...described, ...headers, ...credentials };
      const url = addressOf(to);
      try {
        const outgoing = { method, url, headers: all, signal, ...(body === undefined ? {} : { body }) };
        return await outbound.send(outgoing, events);
      } catch (error) {
        throw error instanceof OutboundError ? exchangeFailure(name, error, phase) : error;
      }
    },
    open: async (to, maxBytes, signal) => {
      const headers = { accept: "*/*", ...credentials };
      try {
        return await outbound.open({ method: "GET", url: addressOf(to), headers, signal }, maxBytes);
      } catch (error) {
        throw error instanceof OutboundError ? exchangeFailure(name, error, "follow") : error;
      }
    },
    failure: (phase, answer, message, retryAfterMs) => {
      const reported: ReportedFailure = {
        message: message == null ? undefined : safeMessage(message, secret),
        retryAfterMs,
      };
      return billed(statusFailure(name, answer, reported, phase), answer);
    },
    failureAs: (kind, phase, answer, what) => {
      const { status } = answer;
      return billed(
        new ProviderError(kind, `${name}: ${what}`, { accepted: phase === "follow", status }),
        answer,
      );
    },
  };
}

/** @returns the body, and the headers that describe it */
function bodyOf({ json, form }: { json: object | undefined; form: readonly FormPart[] | undefined }): {
  readonly body?: NonNullable<OutboundRequest["body"]>;
  readonly described: Readonly<Record<string, string>>;
} {
  if (json !== undefined) {
    const body = jsonBody(json);
    const described = { "content-type": "application/json" };
    if (typeof body === "string") return { body, described };
    return { body: body.pieces, described: { ...described, "content-length": String(body.length) } };
  }
  if (form === undefined) return { described: {} };
  const { contentType, length, pieces } = formBody(form);
  return { body: pieces, described: { "content-type": contentType, "content-length": String(length) } };
}
