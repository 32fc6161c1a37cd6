// Rate limits of one process, decided at once and without a promise. Memory is bounded: when too many subjects are
// active, those that have been quiet for longest are forgotten, which only ever admits more.
import { LRUCache } from "lru-cache";
import {
  admits,
  type Claim,
  type Decision,
  decisionOf,
  type RateLimiter,
  type RateRule,
} from "./rate-limit.ts";

/** Subjects of each rule, so that many addresses cannot push out keys. */
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

  spend({ counts }: Claim, now: number): Decision {
    const nowUs = now * MS_US;
    const backlogsUs: number[] = [];
    let admitted = true;
    for (const { rule, subject } of counts) {
      const fullAtUs = this.#bucketsOf(rule).get(subject)?.fullAtUs ?? nowUs;
      // A backlog above the window means that the clock was set back; the wait must not grow with that.
      const backlogUs = Math.min(Math.max(fullAtUs - nowUs, 0), rule.windowUs);
      backlogsUs.push(backlogUs);
      admitted &&= admits(rule, backlogUs);
    }
    for (const [index, { rule, subject }] of counts.entries()) {
      const backlogUs = (backlogsUs[index] ?? 0) + (admitted ? rule.intervalUs : 0);
      backlogsUs[index] = backlogUs;
      this.#setBacklog(rule, subject, nowUs + backlogUs);
    }
    return decisionOf(counts, admitted, backlogsUs);
  }

  #setBacklog(rule: RateRule, subject: string, fullAtUs: number): void {
    const buckets = this.#bucketsOf(rule);
    const bucket = buckets.peek(subject);
    if (bucket === undefined) buckets.set(subject, { fullAtUs });
    else bucket.fullAtUs = fullAtUs;
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
