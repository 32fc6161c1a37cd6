// Csv sends a CSV file as an answer.
import type { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

export function sendCsv(reply: FastifyReply, file: string, body: Readable | string): FastifyReply {
  return reply
    .type("text/csv; charset=utf-8")
    .header("content-disposition", `attachment; filename="${file}"`)
    .send(body);
}
