// Rate limits of one process, decided at once and without a promise. Memory is bounded: when too many subjects are
// active, the least recently used ones are forgotten, which only ever admits more.
import { LRUCache } from "lru-cache";
import {
  admits,
  type CountedRequest,
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

  spend({ counts }: CountedRequest, now: number): Decision {
    const nowUs = now * MS_US;
    const backlogsUs: number[] = [];
    let admitted = true;
    const buckets: Bucket[] = [];
    for (const { rule, subject } of counts) {
      const bucket = this.#bucketOf(rule, subject, nowUs);
      // A backlog above the window means that the clock was set back; the wait must not grow with that.
      const backlogUs = Math.min(Math.max(bucket.fullAtUs - nowUs, 0), rule.windowUs);
      buckets.push(bucket);
      backlogsUs.push(backlogUs);
      admitted &&= admits(rule, backlogUs);
    }
    let index = 0;
    for (const bucket of buckets) {
      const added = admitted ? (counts[index]?.rule.intervalUs ?? 0) : 0;
      const backlogUs = (backlogsUs[index] ?? 0) + added;
      backlogsUs[index] = backlogUs;
      bucket.fullAtUs = nowUs + backlogUs;
      index += 1;
    }
    return decisionOf(counts, admitted, backlogsUs);
  }

  #bucketOf(rule: RateRule, subject: string, nowUs: number): Bucket {
    const buckets = this.#bucketsOf(rule);
    let bucket = buckets.get(subject);
    if (bucket === undefined) {
      bucket = { fullAtUs: nowUs };
      buckets.set(subject, bucket);
    }
    return bucket;
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
