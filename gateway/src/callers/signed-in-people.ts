// SignedInPeople are people with sessions that the console has confirmed, found by the SHA-256 of the Cookie header. A
// cookie without confirmation belongs to nobody, so a forged cookie counts for its address. The console names the
// person in each answer; the gateway removes this header from the answer.
import { hash } from "node:crypto";
import { type Clock, removeSignedIn } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";

const MAX_SESSIONS = 50_000;
/** Time after the last answer of the console in which a session counts as confirmed. */
const CONFIRMED_MS = 10 * 60_000;

interface Session {
  readonly personId: string;
  /** Unix milliseconds. */
  readonly until: number;
}

export class SignedInPeople {
  readonly #clock: Clock;
  readonly #sessions: LRUCache<string, Session>;

  constructor(clock: Clock, most: number = MAX_SESSIONS) {
    this.#clock = clock;
    this.#sessions = new LRUCache({ max: most });
  }

  /** Returns the id of the person of a confirmed session; undefined without a confirmation by the console. */
  find({ headers: { cookie } }: FastifyRequest): string | undefined {
    if (cookie === undefined || this.#sessions.size === 0) return undefined;
    const session = this.#sessions.get(digestOf(cookie));
    return session === undefined || session.until <= this.#clock.now() ? undefined : session.personId;
  }

  /** Learns from an answer of the console, and removes the header that is not for the client. */
  learn({ headers: { cookie } }: FastifyRequest, reply: FastifyReply): void {
    const personId = removeSignedIn(reply);
    if (personId === undefined || cookie === undefined) return;
    if (personId === null) this.#sessions.delete(digestOf(cookie));
    else this.#sessions.set(digestOf(cookie), { personId, until: this.#clock.now() + CONFIRMED_MS });
  }
}

function digestOf(cookie: string): string {
  return hash("sha256", cookie, "base64");
}
