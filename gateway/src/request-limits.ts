// Which limit a request counts against, and what its answer says of it. Verified keys are counted by key and class;
// everybody else by address; management keys not at all.
import type { Principal } from "@gr/identity";
import { errorRow, ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { Counter, type Registry } from "prom-client";
import { clientNetwork } from "./client-address.ts";
import type { GatewayConfig } from "./config.ts";
import { type Decision, type RateLimiter, type RateRule, rateRule } from "./rate-limit.ts";
import type { RouteRow } from "./routes.ts";

/** For so long an address that was over its limit is counted before its unknown keys are looked up. */
const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 50_000;

/** Undefined = not limited. */
type Rules = Readonly<Record<RouteRow["class"] | "anonymous", RateRule | undefined>>;

/** Undefined lets the request pass; so does "revoked", if the keys service knows the key as a good one all the same. */
export type Verdict = ServiceError | "revoked" | undefined;

export interface RequestLimitsOptions {
  readonly config: GatewayConfig;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  readonly metrics: Registry;
}

export class RequestLimits {
  readonly #rules: Rules;
  readonly #limiter: RateLimiter;
  readonly #clock: Clock;
  readonly #refusals: Counter<"limit">;
  /** Addresses that were over their limit, and until when (Unix milliseconds) that is remembered. */
  readonly #suspects = new LRUCache<string, number>({ max: MAX_SUSPECTS });

  constructor({ config, limiter, clock, metrics }: RequestLimitsOptions) {
    this.#rules = rulesOf(config);
    this.#limiter = limiter;
    this.#clock = clock;
    this.#refusals = new Counter({
      name: "rate_limit_refusals_total",
      help: "Requests that were refused because of a rate limit",
      labelNames: ["limit"],
      registers: [metrics],
    });
  }

  /** A request that is to be served. @param row undefined for paths of the gateway itself. */
  ofAdmitted(
    request: FastifyRequest,
    reply: FastifyReply,
    row: RouteRow | undefined,
    principal: Principal | null,
  ): Verdict | Promise<Verdict> {
    if (principal !== null) {
      if (principal.kind === "management" || row === undefined) return undefined;
      return this.#take(reply, this.#rules[row.class], principal.keyId);
    }
    if (row?.class !== "downloads") return this.ofStranger(request, reply);
    return this.#take(reply, this.#rules.downloads, clientNetwork(request.raw.socket.remoteAddress));
  }

  /** A request that is refused whatever the limits say; too many of them are told to wait instead. */
  ofRefused(request: FastifyRequest, reply: FastifyReply, refusal: unknown): unknown {
    // A failure of ours is not counted against the client.
    if (!(refusal instanceof ServiceError) || errorRow(refusal.reason).status >= 500) return refusal;
    const verdict = this.ofStranger(request, reply);
    return verdict instanceof Promise ? verdict.then((limited) => limited ?? refusal) : (verdict ?? refusal);
  }

  /** Whether this address has sent too much of what is counted by address, in the last minute. */
  wasOverLimit(request: FastifyRequest): boolean {
    if (this.#suspects.size === 0) return false;
    const until = this.#suspects.get(clientNetwork(request.raw.socket.remoteAddress));
    return until !== undefined && until > this.#clock.now();
  }

  /** A request that is counted by its address, whatever its key may turn out to be. */
  ofStranger(request: FastifyRequest, reply: FastifyReply): Verdict | Promise<Verdict> {
    const client = clientNetwork(request.raw.socket.remoteAddress);
    const note = (verdict: Verdict): Verdict => {
      if (verdict instanceof ServiceError) this.#suspects.set(client, this.#clock.now() + SUSPECT_MS);
      return verdict;
    };
    const verdict = this.#take(reply, this.#rules.anonymous, client);
    return verdict instanceof Promise ? verdict.then(note) : note(verdict);
  }

  #take(reply: FastifyReply, rule: RateRule | undefined, subject: string): Verdict | Promise<Verdict> {
    if (rule === undefined) return undefined;
    const decision = this.#limiter.take(subject, rule, this.#clock.now());
    return decision instanceof Promise
      ? decision.then((decided) => this.#tell(reply, rule, decided))
      : this.#tell(reply, rule, decision);
  }

  #tell(reply: FastifyReply, rule: RateRule, decision: Decision): Verdict {
    reply.header("x-ratelimit-limit-requests", String(rule.burst));
    reply.header("x-ratelimit-remaining-requests", String(decision.remaining));
    reply.header("x-ratelimit-reset-requests", durationOf(millisecondsOf(decision.resetUs)));
    if (decision.admitted) return decision.revoked === true ? "revoked" : undefined;
    this.#refusals.inc({ limit: rule.name });
    const retryAfterMs = millisecondsOf(decision.retryAfterUs);
    const message =
      `Rate limit reached for ${rule.requests}: ${rule.perSecond} per second and ${rule.subject}, ` +
      `${rule.burst} at once. Try again in ${durationOf(retryAfterMs)}.`;
    return new ServiceError("rate_limit_exceeded", message, { retryAfterMs });
  }
}

function rulesOf(config: GatewayConfig): Rules {
  const burstSeconds = config.RATE_LIMIT_BURST_SECONDS;
  const rule = (name: string, requests: string, subject: string, perSecond: number) =>
    perSecond === 0 ? undefined : rateRule({ name, requests, subject, perSecond, burstSeconds });
  return {
    text: rule("text", "text requests", "API key", config.RATE_LIMIT_TEXT_PER_SECOND),
    media: rule("media", "image and video requests", "API key", config.RATE_LIMIT_MEDIA_PER_SECOND),
    other: rule("other", "requests that generate nothing", "API key", config.RATE_LIMIT_OTHER_PER_SECOND),
    anonymous: rule(
      "anonymous",
      "requests without a valid API key",
      "IP address",
      config.RATE_LIMIT_ANONYMOUS_PER_SECOND,
    ),
    downloads: rule(
      "downloads",
      "downloads of hosted media",
      "IP address",
      config.RATE_LIMIT_DOWNLOADS_PER_SECOND,
    ),
  };
}

function millisecondsOf(us: number): number {
  return Math.ceil(us / 1_000);
}

/** As OpenAI writes durations: 12ms, 1.5s. */
function durationOf(ms: number): string {
  return ms < 1_000 ? `${ms}ms` : `${ms / 1_000}s`;
}
