// xAI's HTTP routes, to be mounted at /xai/v1. Moderation refuses a prompt with 403, and
// a result with 400 and its bill.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { PicoUsd } from "../../bill/prices.ts";
import type { Billed } from "../../media/media-order.ts";
import type { JobView, MediaRoom } from "../../media/media-room.ts";
import { wordsIn } from "../../media/prompt-words.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo, type ResultFile } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex } from "../../request/simulation.ts";
import { readImageRequest, readVideoRequest } from "./requests.ts";

/** A tick is 1e-10 USD. */
const PICO_PER_TICK: PicoUsd = 100n;

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

const usageOf = (billed: Billed | undefined) => ({
  cost_in_usd_ticks: Number((billed?.picoUsd ?? 0n) / PICO_PER_TICK),
});

export function xaiRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(
      refusalHandler({
        provider: "xai",
        cases: { blocked: "moderation-input", rate_limited: "overload" },
        values: ({ message }) => ({ error: message }),
      }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Bearer");
      if (key !== undefined && key !== "invalid") return next();
      sendCaptured(reply, "xai/bad-key");
    });

    async function answerImage(request: FastifyRequest, reply: FastifyReply, isEdit: boolean) {
      const { order, format } = readImageRequest(request.body, isEdit, requestIdOf(request));
      const count = await media.generate(order, reply);
      if (count === undefined) return reply;
      if (wordsIn(order.prompt).has("#nsfw-output")) {
        // The picture was generated, refused and billed.
        const { cost_in_usd_ticks: ticks } = usageOf(count.billed);
        return sendCaptured(reply, "xai/moderation-output-billed", { "usage.cost_in_usd_ticks": ticks });
      }
      const pictureOf = (file: ResultFile) => ({
        ...(format === "url" ? { url: linkTo(request, file) } : { b64_json: file.bytes.toString("base64") }),
        mime_type: file.type,
        revised_prompt: "",
        respect_moderation: true,
      });
      return reply.send({ data: count.files.map(pictureOf), usage: usageOf(count.billed) });
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
        return sendCaptured(reply, "xai/not-found");
      }
      // A queued job has no body.
      if (job.state === "queued") return reply.code(202).send();
      if (job.state === "running") return reply.code(202).send({ status: "pending", progress: 50 });
      // A refused video is an error of its poll.
      if (job.state === "blocked") return sendCaptured(reply, "xai/moderation-video");
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
  const url = file === undefined ? "" : linkTo(request, file);
  const video = { url, duration, respect_moderation: true };
  return { status: "done", video, model, progress: 100, usage: usageOf(billed) };
}
