// RequestLimits owns the rules that a request counts for, and the rate headers of its answer.
// Verified keys count by key and by account in one step; people of the console by person. All others count by address
// and by the network around it. Management keys have no limit.
import type { Principal } from "@gr/identity";
import { errorRow, ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { Counter, type Registry } from "prom-client";
import type { SignedInPeople } from "../callers/signed-in-people.ts";
import { accountRates, type GatewayConfig } from "../config.ts";
import { clientNetwork, widerNetwork } from "../network/client-address.ts";
import type { TrustedProxies } from "../network/trusted-proxies.ts";
import type { RouteRow } from "../routes.ts";
import {
  type Count,
  type CountedRequest,
  type Decision,
  type RateLimiter,
  type RateRule,
  rateRule,
} from "./rate-limit.ts";

/** Time for which an address over its limit is counted before the look-up of its unknown keys. */
const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 50_000;

/** Rate of a whole network, as a multiple of one address's rate. */
const NETWORK_IN_ADDRESSES = 10;

/** A rule for one subject, and one for the subject that includes it; undefined = not limited. */
interface RulePair {
  readonly narrow: RateRule | undefined;
  readonly wide: RateRule | undefined;
}

interface Rules extends Readonly<Record<RouteRow["class"] | "anonymous", RulePair>> {
  readonly person: RateRule | undefined;
}

/** Undefined admits the request; so does "revoked", if the keys service confirms that the key is still valid. */
export type Verdict = ServiceError | "revoked" | undefined;

export interface RequestLimitsOptions {
  readonly config: GatewayConfig;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  readonly metrics: Registry;
  readonly people: Pick<SignedInPeople, "find">;
  readonly proxies: Pick<TrustedProxies, "clientOf">;
}

export class RequestLimits {
  readonly #rules: Rules;
  readonly #limiter: RateLimiter;
  readonly #clock: Clock;
  readonly #refusals: Counter<"limit">;
  readonly #people: RequestLimitsOptions["people"];
  readonly #proxies: RequestLimitsOptions["proxies"];
  readonly #ipv4Prefix: number;
  /** Addresses and networks that were over their limit, and the end of this memory in Unix milliseconds. */
  readonly #suspects = new LRUCache<string, number>({ max: MAX_SUSPECTS });

  constructor({ config, limiter, clock, metrics, people, proxies }: RequestLimitsOptions) {
    this.#people = people;
    this.#proxies = proxies;
    this.#ipv4Prefix = config.RATE_LIMIT_IPV4_PREFIX;
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

  /** Counts an admitted request. @param row undefined for paths of the gateway itself. */
  ofAdmitted(
    request: FastifyRequest,
    reply: FastifyReply,
    row: RouteRow | undefined,
    principal: Principal | null,
  ): Verdict | Promise<Verdict> {
    if (principal !== null) {
      if (principal.kind === "management" || row === undefined) return undefined;
      const { keyId, accountId } = principal;
      const counts = countsOf(this.#rules[row.class], keyId, accountId);
      return this.#spend(reply, { counts, owner: accountId, keyId });
    }
    if (row?.class === "downloads")
      return this.#spend(reply, this.#byAddress(request, this.#rules.downloads));
    const person = row?.signsIn === true ? this.#people.find(request) : undefined;
    if (person === undefined) return this.ofStranger(request, reply);
    const counts = countsOf({ narrow: this.#rules.person, wide: undefined }, person, person);
    return this.#spend(reply, { counts, owner: person });
  }

  /** Counts a refused request; above the limits, its answer is the rate limit error instead. */
  ofRefused(request: FastifyRequest, reply: FastifyReply, refusal: unknown): unknown {
    // A failure of ours is not counted against the client.
    if (!(refusal instanceof ServiceError) || errorRow(refusal.reason).status >= 500) return refusal;
    const verdict = this.ofStranger(request, reply);
    return verdict instanceof Promise ? verdict.then((limited) => limited ?? refusal) : (verdict ?? refusal);
  }

  /** Returns true if this address, or its network, was over its limit without a valid key in the last minute. */
  wasOverLimit(request: FastifyRequest): boolean {
    if (this.#suspects.size === 0) return false;
    const { client, network } = this.#subjectsOf(request);
    return this.#isSuspect(client) || this.#isSuspect(network);
  }

  #isSuspect(subject: string): boolean {
    const until = this.#suspects.get(subject);
    return until !== undefined && until > this.#clock.now();
  }

  /** Counts a request by its address, with a valid or an invalid key. */
  ofStranger(request: FastifyRequest, reply: FastifyReply): Verdict | Promise<Verdict> {
    return this.#spend(reply, this.#byAddress(request, this.#rules.anonymous), "suspect");
  }

  #byAddress(request: FastifyRequest, rules: RulePair): CountedRequest {
    const { client, network } = this.#subjectsOf(request);
    return { counts: countsOf(rules, client, network), owner: network };
  }

  #subjectsOf({ raw }: FastifyRequest): { client: string; network: string } {
    const address = this.#proxies.clientOf(raw);
    return { client: clientNetwork(address), network: widerNetwork(address, this.#ipv4Prefix) };
  }

  /** @param refused suspect: remember the subject of a refused request */
  #spend(reply: FastifyReply, counted: CountedRequest, refused?: "suspect"): Verdict | Promise<Verdict> {
    if (counted.counts.length === 0) return undefined;
    const decision = this.#limiter.spend(counted, this.#clock.now());
    return decision instanceof Promise
      ? decision.then((late) => this.#verdictOf(reply, late, refused))
      : this.#verdictOf(reply, decision, refused);
  }

  #verdictOf(reply: FastifyReply, decision: Decision, refused: "suspect" | undefined): Verdict {
    const { rule, subject } = decision.count;
    if (refused === "suspect" && !decision.isAdmitted) {
      this.#suspects.set(subject, this.#clock.now() + SUSPECT_MS);
    }
    reply.header("x-ratelimit-limit-requests", String(rule.burst));
    reply.header("x-ratelimit-remaining-requests", String(decision.remaining));
    reply.header("x-ratelimit-reset-requests", durationOf(millisecondsOf(decision.resetUs)));
    if (decision.isAdmitted) return decision.isRevoked === true ? "revoked" : undefined;
    this.#refusals.inc({ limit: rule.name });
    const retryAfterMs = millisecondsOf(decision.retryAfterUs);
    const message =
      `Rate limit reached for ${rule.requests}: ${rule.perSecond} per second and ${rule.subject}, ` +
      `${rule.burst} at once. Try again in ${durationOf(retryAfterMs)}.`;
    return new ServiceError("rate_limit_exceeded", message, { retryAfterMs });
  }
}

function countsOf({ narrow, wide }: RulePair, subject: string, owner: string): Count[] {
  const counts: Count[] = [];
  if (narrow !== undefined) counts.push({ rule: narrow, subject });
  if (wide !== undefined) counts.push({ rule: wide, subject: owner });
  return counts;
}

function rulesOf(config: GatewayConfig): Rules {
  const burstSeconds = config.RATE_LIMIT_BURST_SECONDS;
  const rule = (name: string, requests: string, subject: string, perSecond: number) =>
    perSecond === 0 ? undefined : rateRule({ name, requests, subject, perSecond, burstSeconds });
  const account = accountRates(config);
  const ofKeys = (name: keyof typeof account, requests: string, perSecond: number): RulePair => ({
    narrow: rule(name, requests, "API key", perSecond),
    wide: rule(`account-${name}`, requests, "account", account[name]),
  });
  const ofAddresses = (name: string, requests: string, perSecond: number): RulePair => ({
    narrow: rule(name, requests, "IP address", perSecond),
    wide: rule(`network-${name}`, requests, "IP network", NETWORK_IN_ADDRESSES * perSecond),
  });
  const other = config.RATE_LIMIT_OTHER_PER_SECOND;
  return {
    text: ofKeys("text", "text requests", config.RATE_LIMIT_TEXT_PER_SECOND),
    media: ofKeys("media", "image and video requests", config.RATE_LIMIT_MEDIA_PER_SECOND),
    other: ofKeys("other", "requests that generate nothing", other),
    anonymous: ofAddresses(
      "anonymous",
      "requests without a valid API key",
      config.RATE_LIMIT_ANONYMOUS_PER_SECOND,
    ),
    downloads: ofAddresses("downloads", "downloads of hosted media", config.RATE_LIMIT_DOWNLOADS_PER_SECOND),
    person: rule("person", "requests of the console", "person", other),
  };
}

function millisecondsOf(us: number): number {
  return Math.ceil(us / 1_000);
}

/** Formats durations as OpenAI does: 12ms, 1.5s. */
function durationOf(ms: number): string {
  return ms < 1_000 ? `${ms}ms` : `${ms / 1_000}s`;
}
