// How fast requests may come: the generic cell rate algorithm, exact and in whole microseconds. A subject's only
// state is its backlog, the time until its whole burst is available again; a refused request does not change it.

/** A limit, and who it is counted for. */
export interface RateRule {
  readonly name: string;
  /** For people: what is limited, "text requests". */
  readonly requests: string;
  /** For people: whose requests are counted together, "API key". */
  readonly subject: string;
  readonly perSecond: number;
  /** Requests that may come at once. */
  readonly burst: number;
  /** Microseconds that one request uses up. */
  readonly intervalUs: number;
  /** Microseconds of backlog that a whole burst makes. */
  readonly windowUs: number;
}

export interface Decision {
  readonly admitted: boolean;
  /** Requests that would be admitted now. */
  readonly remaining: number;
  /** Microseconds until the whole burst is available again. */
  readonly resetUs: number;
  /** Microseconds until one request would be admitted; 0 when this one was. */
  readonly retryAfterUs: number;
  /** The subject is a key that was deleted or disabled a moment ago: whatever is known of it may be out of date. */
  readonly revoked?: boolean;
}

export interface RateLimiter {
  /**
   * Counts one request, unless it is refused.
   * @param subject key id or address; subjects of different rules are different subjects.
   * @param now Unix milliseconds.
   */
  take(subject: string, rule: RateRule, now: number): Decision | Promise<Decision>;
}

const SECOND_US = 1_000_000;

export interface RateRuleOptions {
  readonly name: string;
  readonly requests: string;
  readonly subject: string;
  readonly perSecond: number;
  /** The burst is as many requests as this time allows, and at least one. */
  readonly burstSeconds: number;
}

export function rateRule({ burstSeconds, ...rest }: RateRuleOptions): RateRule {
  // Rounded so that what is admitted never exceeds the limit.
  const intervalUs = Math.ceil(SECOND_US / rest.perSecond);
  const burst = Math.max(1, Math.floor(rest.perSecond * burstSeconds));
  return { ...rest, burst, intervalUs, windowUs: burst * intervalUs };
}

/** @param backlogUs after the request was counted, if it was. */
export function decisionOf(rule: RateRule, admitted: boolean, backlogUs: number): Decision {
  return {
    admitted,
    remaining: Math.floor((rule.windowUs - backlogUs) / rule.intervalUs),
    resetUs: backlogUs,
    retryAfterUs: admitted ? 0 : backlogUs + rule.intervalUs - rule.windowUs,
  };
}
