// HTTP to one provider: the secret goes to the provider's own hosts and nowhere else, whatever address an answer names,
// and a failed exchange becomes a ProviderError that knows whether the job had been accepted.
import type { FormData } from "undici";
import { exchangeFailure, type Phase, safeMessage, statusFailure } from "./answer-failure.ts";
import { type Outbound, type OutboundAnswer, OutboundError, type OutboundRequest } from "./outbound.ts";
import { ProviderError } from "./provider-error.ts";

export interface ProviderHttpOptions {
  /** As the provider is called in messages. */
  readonly name: string;
  /** Up to what all paths have in common: https://api.example/v1 */
  readonly baseUrl: string;
  readonly secret: string;
  /** The header that carries the secret, for example { authorization: `Bearer ${secret}` }. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Other origins of the provider that its answers lead to, for example where results are polled. */
  readonly moreOrigins?: readonly string[];
  readonly outbound: Pick<Outbound, "send">;
}

export interface ProviderRequest {
  readonly method: OutboundRequest["method"];
  /** A path below the base URL, or a whole address from an answer. */
  readonly to: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly form?: FormData;
}

export interface ProviderHttp {
  /** Any status resolves. @throws ProviderError */
  send(phase: Phase, request: ProviderRequest, signal: AbortSignal): Promise<OutboundAnswer>;
  /** What an answer means that is none of the documented ones. @param message the provider's own words */
  failure(phase: Phase, answer: OutboundAnswer, message?: string | null): ProviderError;
}

export function createProviderHttp(options: ProviderHttpOptions): ProviderHttp {
  const { name, secret, credentials, outbound } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const own = new Set([new URL(baseUrl).origin, ...(options.moreOrigins ?? [])]);

  function addressOf(to: string): string {
    const url = URL.parse(to.startsWith("/") ? baseUrl + to : to);
    if (url !== null && own.has(url.origin)) return url.href;
    const message = `${name}: its answer leads to another host`;
    throw new ProviderError("failed", message, { accepted: true });
  }

  return {
    send: async (phase, { method, to, headers, json, form }, signal) => {
      const body = json === undefined ? form : JSON.stringify(json);
      const type = json === undefined ? {} : { "content-type": "application/json" };
      const all = { accept: "application/json", ...type, ...headers, ...credentials };
      const url = addressOf(to);
      try {
        return await outbound.send({
          method,
          url,
          headers: all,
          signal,
          ...(body === undefined ? {} : { body }),
        });
      } catch (error) {
        throw error instanceof OutboundError ? exchangeFailure(name, error, phase) : error;
      }
    },
    failure: (phase, answer, message) => {
      const words = message == null ? undefined : safeMessage(message, secret);
      return statusFailure(name, answer, words, phase);
    },
  };
}
