// Together's HTTP routes: images, to be mounted at /together/v1, and videos, at /together/v2.
// The real ones are on two hosts.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { formatUsd } from "../../bill/prices.ts";
import type { JobState, JobView, MediaRoom } from "../../media/media-room.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import type { Refusal } from "../../request/refusal.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex } from "../../request/simulation.ts";
import { readImageRequest, readVideoRequest } from "./requests.ts";

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

const valuesOf = ({ message, param, code }: Refusal) => ({
  "error.message": message,
  "error.param": param,
  "error.code": code,
});

/** Sets up the common parts of both hosts. */
function prepare(app: FastifyInstance): void {
  app.setErrorHandler(
    refusalHandler({ provider: "together", cases: { blocked: "server-error" }, values: valuesOf }),
  );
  app.addHook("onRequest", (request, reply, next) => {
    const key = keyOf(request, "authorization", "Bearer");
    if (key !== undefined && key !== "invalid") return next();
    sendCaptured(reply, "together/bad-key");
  });
}

export function togetherImageRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    prepare(app);
    app.post("/images/generations", async (request, reply) => {
      const { order, format } = readImageRequest(request.body, requestIdOf(request));
      const count = await media.generate(order, reply);
      if (count === undefined) return reply;
      const data = count.files.map((file, index) => ({
        index,
        type: format === "url" ? "url" : "b64_json",
        ...(format === "url" ? { url: linkTo(request, file) } : { b64_json: file.bytes.toString("base64") }),
      }));
      return reply.send({ id: uniqueHex(20), model: order.model, object: "list", data });
    });
  };
}

export function togetherVideoRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    prepare(app);
    app.post("/videos", (request, reply) => {
      const job = media.submit(readVideoRequest(request.body, requestIdOf(request)), reply);
      return job === undefined ? reply : reply.type("application/json").send(videoOf(job, request));
    });

    app.get<{ Params: { id: string } }>("/videos/:id", (request, reply) => {
      const job = media.poll(request.params.id);
      if (job !== undefined) return reply.type("application/json").send(videoOf(job, request));
      return sendCaptured(reply, "together/not-found");
    });
  };
}

const STATUS: Readonly<Record<JobState, string>> = {
  queued: "in_progress",
  running: "in_progress",
  done: "completed",
  failed: "failed",
  blocked: "failed",
  cancelled: "failed",
};

/** As text: the cost is an exact decimal. */
function videoOf({ id, state, order, files, billed, createdAt }: JobView, request: FastifyRequest): string {
  const { width, height } = order.size;
  const [file] = files;
  const failed = STATUS[state] === "failed";
  const head = {
    id,
    object: "video",
    model: order.model,
    status: STATUS[state],
    created_at: Math.floor(createdAt / 1_000),
    size: `${width}x${height}`,
    seconds: order.wanted.kind === "video" ? String(order.wanted.seconds) : "0",
    ...(failed ? { error: { code: "internal", message: "Failed" } } : {}),
  };
  if (file === undefined || billed === undefined) return JSON.stringify(head);
  const outputs = `{"cost":${formatUsd(billed.picoUsd)},"video_url":${JSON.stringify(linkTo(request, file))}}`;
  return `${JSON.stringify(head).slice(0, -1)},"outputs":${outputs}}`;
}
