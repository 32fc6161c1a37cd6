// UpstreamFaults are faults of a whole text upstream, for any model, set and deleted during operation. A router with
// several upstreams can thus be observed during fail-over and recovery. A refused request is not billed.
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { CAPTURED_ANSWERS, type CapturedAnswer } from "../captured-answers.ts";
import { send } from "./send-captured.ts";
import type { Simulation } from "./simulation.ts";

export const FAULTY_UPSTREAMS = ["openrouter", "openai", "local"] as const;
type FaultyUpstream = (typeof FAULTY_UPSTREAMS)[number];

const upstreamFault = z.strictObject({
  /** An error answer with this status; 0 = no answer. */
  status: z.union([z.literal(0), z.int().min(400).max(599)]),
  /** Seconds of a `Retry-After`. */
  retry_after: z.int().min(0).max(3_600).optional(),
  /** True if the answer is the page of a proxy, as for every status without a captured answer. */
  page: z.boolean().default(false),
});
type UpstreamFault = z.infer<typeof upstreamFault>;

const place = z.object({ upstream: z.enum(FAULTY_UPSTREAMS) });
const TEXT = /\/(chat\/completions|responses)$/;

export class UpstreamFaults {
  readonly #simulation: Simulation;
  readonly #faults = new Map<FaultyUpstream, UpstreamFault>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** `PUT /faults/{upstream}` sets a fault, `DELETE` deletes it. */
  readonly routes: FastifyPluginAsync = async (app) => {
    app.put("/faults/:upstream", (request, reply) => {
      const where = place.safeParse(request.params);
      const fault = upstreamFault.safeParse(request.body);
      if (!where.success || !fault.success) {
        return reply
          .code(400)
          .send({ error: { message: z.prettifyError(where.error ?? fault.error ?? new z.ZodError([])) } });
      }
      this.#faults.set(where.data.upstream, fault.data);
      return reply.code(204).send();
    });
    app.delete("/faults/:upstream", (request, reply) => {
      const where = place.safeParse(request.params);
      if (where.success) this.#faults.delete(where.data.upstream);
      return reply.code(where.success ? 204 : 404).send();
    });
  };

  /** The routes of an upstream, with its fault before them. */
  over(upstream: FaultyUpstream, routes: (app: FastifyInstance) => Promise<void>): FastifyPluginAsync {
    return async (app) => {
      app.addHook("onRequest", (request, reply, next) => {
        const fault = this.#faults.get(upstream);
        if (fault === undefined || !isText(request)) next();
        else this.#fail(upstream, fault, reply);
      });
      await routes(app);
    };
  }

  #fail(
    upstream: FaultyUpstream,
    { status, retry_after: seconds, page }: UpstreamFault,
    reply: FastifyReply,
  ): void {
    if (status === 0) {
      reply.hijack();
      this.#simulation.hang(reply.raw);
      return;
    }
    if (seconds !== undefined) reply.header("retry-after", String(seconds));
    reply.code(status);
    const captured = page ? undefined : answerOf(upstream, status);
    if (captured !== undefined) send(reply, captured);
    else reply.type("text/html").send(`<html><body>${status}</body></html>`);
  }
}

/** Error that was captured with this status. A self-hosted server answers like OpenAI. */
function answerOf(upstream: FaultyUpstream, status: number): CapturedAnswer | undefined {
  const folder = upstream === "local" ? "openai/" : `${upstream}/`;
  const answers = CAPTURED_ANSWERS.filter((each) => each.status === status && each.name.startsWith(folder));
  return answers.find(({ about }) => about === "load" || about === "server") ?? answers[0];
}

function isText({ method, url }: FastifyRequest): boolean {
  return method === "POST" && TEXT.test(url);
}
