// Rate limits use the generic cell rate algorithm, exact and in whole microseconds. A subject's only state is its
// backlog, the time until its whole burst is available again; a refused request does not change it. The figures are in
// `config.ts`; `request-limits.ts` decides which subjects a request counts for.

/** A limit, and the kind of subject that it counts. */
export interface RateRule {
  readonly name: string;
  /** Plural noun for people, such as "text requests". */
  readonly requests: string;
  /** Subject for people, such as "API key". */
  readonly subject: string;
  readonly perSecond: number;
  /** Requests that are admitted at once. */
  readonly burst: number;
  /** Microseconds that one request uses up. */
  readonly intervalUs: number;
  /** Microseconds of backlog after a whole burst. */
  readonly windowUs: number;
}

/** A rule, and the subject that a request counts for. */
export interface Count {
  readonly rule: RateRule;
  /** Id of a key, an account or a person, or an address or a network; each rule has subjects of its own. */
  readonly subject: string;
}

/** A request with all its counts, which one step decides together. */
export interface CountedRequest {
  /** At least one; the narrowest subject first. */
  readonly counts: readonly Count[];
  /** Subject that includes all others. A Redis cluster stores all its counts in one place. */
  readonly owner: string;
  /** Key of the request, for the check of its revocation; undefined without a valid key. */
  readonly keyId?: string | undefined;
}

/** The answer to a counted request, in the figures of its tightest count. */
export interface Decision {
  readonly count: Count;
  readonly isAdmitted: boolean;
  /** Requests that this count would admit now. */
  readonly remaining: number;
  /** Microseconds until the whole burst of this count is available again. */
  readonly resetUs: number;
  /** Microseconds until one request would be admitted; 0 when this one was. */
  readonly retryAfterUs: number;
  /** The key was deleted, disabled, or got other allow-lists a moment ago, so that its last verification may be out of date. */
  readonly isRevoked?: boolean;
}

export interface RateLimiter {
  /**
   * Admits a request if all its counts admit it, and counts it for all of them. A refused request counts for none.
   * @param now Unix milliseconds.
   */
  spend(request: CountedRequest, now: number): Decision | Promise<Decision>;
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
  // Rounded so that the admitted rate never exceeds the limit.
  const intervalUs = Math.ceil(SECOND_US / rest.perSecond);
  const burst = Math.max(1, Math.floor(rest.perSecond * burstSeconds));
  return { ...rest, burst, intervalUs, windowUs: burst * intervalUs };
}

/** Returns true if a rule admits one more request on top of a backlog in microseconds. */
export function admits({ intervalUs, windowUs }: RateRule, backlogUs: number): boolean {
  return backlogUs + intervalUs <= windowUs;
}

/**
 * Returns the decision in the figures of the tightest count: the longest wait if the request is refused, else the
 * fewest remaining requests.
 * @param backlogsUs of each count, after the request was counted if it was.
 */
export function decisionOf(
  counts: readonly Count[],
  isAdmitted: boolean,
  backlogsUs: readonly number[],
): Decision {
  let tightest: Decision | undefined;
  for (const [index, count] of counts.entries()) {
    const decision = figuresOf(count, isAdmitted, backlogsUs[index] ?? 0);
    if (tightest === undefined || isTighter(decision, tightest)) tightest = decision;
  }
  if (tightest === undefined) throw new Error("a counted request needs at least one count");
  return tightest;
}

function figuresOf(count: Count, isAdmitted: boolean, backlogUs: number): Decision {
  const { intervalUs, windowUs } = count.rule;
  return {
    count,
    isAdmitted,
    remaining: Math.floor((windowUs - backlogUs) / intervalUs),
    resetUs: backlogUs,
    retryAfterUs: isAdmitted ? 0 : Math.max(0, backlogUs + intervalUs - windowUs),
  };
}

function isTighter(one: Decision, other: Decision): boolean {
  return one.isAdmitted ? one.remaining < other.remaining : one.retryAfterUs > other.retryAfterUs;
}
