// xAI's HTTP surface, to be mounted at /xai/v1. What moderation takes away is an answer without an address.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { keyOf } from "../key.ts";
import type { Billed } from "../media/media-order.ts";
import type { JobView, MediaRoom } from "../media/media-room.ts";
import { refusalHandler } from "../media/refusal-handler.ts";
import { linkTo, type ResultFile } from "../media/result-files.ts";
import type { PicoUsd } from "../prices.ts";
import type { Refusal } from "../refusal.ts";
import { callerRequestId, uniqueHex } from "../simulation.ts";
import { readImageRequest, readVideoRequest } from "./requests.ts";

/** A tick is 1e-10 USD. */
const PICO_PER_TICK: PicoUsd = 100n;
const TAKEN_AWAY = { url: "", respect_moderation: false };

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

const usageOf = (billed: Billed | undefined) => ({
  cost_in_usd_ticks: Number((billed?.picoUsd ?? 0n) / PICO_PER_TICK),
});

export function xaiRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    const bodyOf = ({ message, code }: Refusal) => ({
      code: code ?? "Client specified an invalid argument",
      error: message,
    });
    app.setErrorHandler(refusalHandler({ bodyOf }));
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Bearer");
      if (key !== undefined && key !== "invalid") return next();
      const error = "Invalid or missing API key. You can obtain one from https://console.x.ai.";
      reply.code(401).send({ code: "The caller does not have valid credentials", error });
    });

    async function answerImage(request: FastifyRequest, reply: FastifyReply, isEdit: boolean) {
      const { order, format } = readImageRequest(request.body, isEdit, requestIdOf(request));
      const made = await media.make(order, reply).catch((error: Refusal) => {
        if (error.reason !== "blocked") throw error;
        return { files: [], billed: undefined };
      });
      if (made === undefined) return reply;
      const pictureOf = (file: ResultFile) => ({
        ...(format === "url" ? { url: linkTo(request, file) } : { b64_json: file.bytes.toString("base64") }),
        mime_type: file.type,
        revised_prompt: "",
        respect_moderation: true,
      });
      const data = made.billed === undefined ? [TAKEN_AWAY] : made.files.map(pictureOf);
      return reply.send({ data, usage: usageOf(made.billed) });
    }
    app.post("/images/generations", (request, reply) => answerImage(request, reply, false));
    app.post("/images/edits", (request, reply) => answerImage(request, reply, true));

    app.post("/videos/generations", (request, reply) => {
      const job = media.submit(readVideoRequest(request.body, requestIdOf(request)), reply);
      return job === undefined ? reply : reply.send({ request_id: job.id });
    });

    app.get<{ Params: { id: string } }>("/videos/:id", (request, reply) => {
      const job = media.poll(request.params.id);
      if (job === undefined) {
        return reply
          .code(404)
          .send({ code: "Some requested entity was not found", error: "no such request" });
      }
      // While it waits there is nothing to say.
      if (job.state === "queued") return reply.code(202).send();
      if (job.state === "running") return reply.code(202).send({ status: "pending", progress: 50 });
      return reply.send(endOf(job, request));
    });
  };
}

function endOf({ state, order, files, billed }: JobView, request: FastifyRequest): object {
  const { model, wanted } = order;
  if (state === "failed" || state === "cancelled") {
    return {
      status: "failed",
      error: { code: "internal_error", message: "The video could not be generated." },
    };
  }
  const duration = wanted.kind === "video" ? wanted.seconds : 0;
  const [file] = files;
  const video =
    file === undefined ? TAKEN_AWAY : { url: linkTo(request, file), duration, respect_moderation: true };
  return { status: "done", video, model, progress: 100, usage: usageOf(billed) };
}
