// Shows the bill: `GET /bill` and `GET /bill/{request id}`.
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Bill, BillItem } from "./bill.ts";

/** Items written at a time: a long bill is streamed, never built as one string. */
const ITEMS_PER_CHUNK = 500;

export function billRoutes(bill: Bill) {
  return async (app: FastifyInstance): Promise<void> => {
    app.get("/bill", (_request, reply) =>
      reply.type("application/json").send(Readable.from(writeBill(bill), { objectMode: false })),
    );

    app.get<{ Params: { "*": string } }>("/bill/*", (request, reply) => {
      const id = request.params["*"];
      const items = bill.find(id);
      if (items.length === 0)
        return reply.code(404).send({ error: { message: `Nothing was billed for ${id}` } });
      const sum = items.reduce((total, item) => total + item.picoUsd, 0n);
      return reply
        .type("application/json")
        .send(
          `{"request_id":${JSON.stringify(id)},"pico_usd":"${sum}","items":[${items.map(itemJson).join(",")}]}`,
        );
    });
  };
}

/** Writes the items that were booked before the request; later ones are not in its total either. */
function* writeBill(bill: Bill): Generator<string> {
  const { items, total } = bill;
  const count = items.length;
  yield `{"total_pico_usd":"${total}","items":[`;
  for (let start = 0; start < count; start += ITEMS_PER_CHUNK) {
    const chunk = items.slice(start, Math.min(start + ITEMS_PER_CHUNK, count));
    yield (start === 0 ? "" : ",") + chunk.map(itemJson).join(",");
  }
  yield "]}";
}

function itemJson(item: BillItem): string {
  return `{"request_id":${JSON.stringify(item.requestId)},"model":"${item.model}","pico_usd":"${item.picoUsd}"}`;
}
