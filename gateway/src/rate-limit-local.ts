// Rate limits of one process, decided at once and without a promise. Memory is bounded: when too many subjects are
// active, those that have been quiet for longest are forgotten, which only ever admits more.
import { LRUCache } from "lru-cache";
import { type Decision, decisionOf, type RateLimiter, type RateRule } from "./rate-limit.ts";

/** Of each rule, so that many addresses cannot push out keys. */
const MAX_SUBJECTS = 50_000;
const MS_US = 1_000;

interface Bucket {
  /** Unix microseconds at which the whole burst is available again. */
  fullAtUs: number;
}

export class LocalRateLimiter implements RateLimiter {
  readonly #maxSubjects: number;
  readonly #rules = new Map<string, LRUCache<string, Bucket>>();

  constructor(maxSubjects: number = MAX_SUBJECTS) {
    this.#maxSubjects = maxSubjects;
  }

  take(subject: string, rule: RateRule, now: number): Decision {
    const nowUs = now * MS_US;
    const buckets = this.#bucketsOf(rule);
    const bucket = buckets.get(subject);
    // A backlog above the window means that the clock was set back; the wait must not grow with that.
    const backlogUs =
      bucket === undefined ? 0 : Math.min(Math.max(bucket.fullAtUs - nowUs, 0), rule.windowUs);
    const admitted = backlogUs + rule.intervalUs <= rule.windowUs;
    const newBacklogUs = admitted ? backlogUs + rule.intervalUs : backlogUs;
    if (bucket === undefined) buckets.set(subject, { fullAtUs: nowUs + newBacklogUs });
    else bucket.fullAtUs = nowUs + newBacklogUs;
    return decisionOf(rule, admitted, newBacklogUs);
  }

  #bucketsOf({ name }: RateRule): LRUCache<string, Bucket> {
    let buckets = this.#rules.get(name);
    if (buckets === undefined) {
      buckets = new LRUCache({ max: this.#maxSubjects });
      this.#rules.set(name, buckets);
    }
    return buckets;
  }
}
