// UpstreamStatement sums the bill of one upstream by UTC day and model, as its statement shows it. Surcharges are
// billed there and reported in no usage: only a comparison with the statement finds them.
import type { FastifyPluginAsync } from "fastify";
import { z } from "zod";
import { type Bill, STATED_UPSTREAMS, type StatedUpstream } from "./bill.ts";
import type { PicoUsd } from "./prices.ts";

/** Cost of one model on one UTC day. */
export interface StatementSum {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly model: string;
  picoUsd: PicoUsd;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

const place = z.object({ upstream: z.enum(STATED_UPSTREAMS) });
const surcharge = z.strictObject({ model: z.string().min(1), pico_usd: z.string().regex(/^\d{1,18}$/) });

interface Surcharge {
  readonly perRequest: PicoUsd;
  /** Index of the first item of the bill to which it applies. */
  readonly since: number;
}

export class Statements {
  readonly #bill: Bill;
  readonly #surcharges = new Map<string, Surcharge>();

  constructor(bill: Bill) {
    this.#bill = bill;
  }

  /** `PUT /surcharges/{upstream}` adds an amount to each later request of a model, on the statement only. */
  readonly routes: FastifyPluginAsync = async (app) => {
    app.put("/surcharges/:upstream", (request, reply) => {
      const where = place.safeParse(request.params);
      const what = surcharge.safeParse(request.body);
      if (!where.success || !what.success) {
        const error = where.error ?? what.error ?? new z.ZodError([]);
        return reply.code(400).send({ error: { message: z.prettifyError(error) } });
      }
      const { model, pico_usd: amount } = what.data;
      const since = this.#bill.items.length;
      this.#surcharges.set(keyOf(where.data.upstream, model), { perRequest: BigInt(amount), since });
      return reply.code(204).send();
    });
  };

  of(upstream: StatedUpstream): UpstreamStatement {
    return { read: (from, until) => this.#sum(upstream, from, until) };
  }

  #sum(upstream: StatedUpstream, from: number, until: number): StatementSum[] {
    const sums = new Map<string, StatementSum>();
    for (const [index, item] of this.#bill.items.entries()) {
      if (item.upstream !== upstream || item.createdAt < from || item.createdAt >= until) continue;
      const day = new Date(item.createdAt).toISOString().slice(0, 10);
      const { model } = item;
      const sum = sums.get(keyOf(day, model)) ?? { day, model, ...NOTHING };
      const hidden = this.#surcharges.get(keyOf(upstream, model));
      sum.picoUsd += item.picoUsd + (hidden !== undefined && index >= hidden.since ? hidden.perRequest : 0n);
      sum.requests += 1;
      sum.inputTokens += item.inputTokens;
      sum.outputTokens += item.outputTokens;
      sum.reasoningTokens += item.reasoningTokens ?? 0;
      sums.set(keyOf(day, model), sum);
    }
    return [...sums.values()];
  }
}

export interface UpstreamStatement {
  /** @param from Unix milliseconds. @param until excluded */
  read(from: number, until: number): StatementSum[];
}

const NOTHING = { picoUsd: 0n, requests: 0, inputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

function keyOf(one: string, other: string): string {
  return `${one} ${other}`;
}
