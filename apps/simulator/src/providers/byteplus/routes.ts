// ModelArk's HTTP surface, to be mounted at /byteplus/api/v3.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { capturedAnswer } from "../../captured-answers.ts";
import type { JobState, JobView, MediaRoom } from "../../media/media-room.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex, unixSeconds } from "../../request/simulation.ts";
import { readImageRequest, readTask } from "./requests.ts";

const STATUS: Readonly<Record<JobState, string>> = {
  queued: "queued",
  running: "running",
  done: "succeeded",
  failed: "failed",
  blocked: "failed",
  cancelled: "cancelled",
};
const BLOCKED = z
  .looseObject({ error: z.unknown() })
  .parse(capturedAnswer("byteplus/moderation-video").body).error;
const TASKS = "/contents/generations/tasks";

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

export function bytePlusRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(
      refusalHandler({ provider: "byteplus", values: ({ message }) => ({ "error.message": message }) }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Bearer");
      if (key !== undefined && key !== "invalid") return next();
      sendCaptured(reply, "byteplus/bad-key");
    });

    app.post("/images/generations", async (request, reply) => {
      const { order, format } = readImageRequest(request.body, requestIdOf(request));
      const count = await media.generate(order, reply);
      if (count === undefined) return reply;
      const size = `${order.size.width}x${order.size.height}`;
      const data = count.files.map((file) => ({
        ...(format === "url" ? { url: linkTo(request, file) } : { b64_json: file.bytes.toString("base64") }),
        size,
      }));
      const { outputTokens = 0 } = count.billed;
      const usage = {
        generated_images: data.length,
        output_tokens: outputTokens,
        total_tokens: outputTokens,
      };
      return reply.send({ model: order.model, created: unixSeconds(), data, usage });
    });

    app.post(TASKS, (request, reply) => {
      const job = media.submit(readTask(request.body, requestIdOf(request)), reply);
      return job === undefined ? reply : reply.send({ id: job.id });
    });

    app.get<{ Params: { id: string } }>(`${TASKS}/:id`, (request, reply) => {
      const job = media.poll(request.params.id);
      return job === undefined ? unknownTask(reply) : reply.send(taskOf(job, request));
    });

    app.delete<{ Params: { id: string } }>(`${TASKS}/:id`, (request, reply) => {
      const job = media.cancel(request.params.id);
      return job === undefined ? unknownTask(reply) : reply.send({});
    });
  };
}

function taskOf({ id, state, order, files, billed, createdAt }: JobView, request: FastifyRequest): object {
  const task = {
    id,
    model: order.model,
    status: STATUS[state],
    created_at: Math.floor(createdAt / 1_000),
    updated_at: unixSeconds(),
  };
  if (state === "blocked") return { ...task, error: BLOCKED };
  // The format of a task that failed for another reason was not captured.
  if (state === "failed") return task;
  const [file] = files;
  if (file === undefined) return task;
  const { outputTokens = 0 } = billed ?? {};
  return {
    ...task,
    content: { video_url: linkTo(request, file) },
    usage: { completion_tokens: outputTokens, total_tokens: outputTokens },
    duration: order.wanted.kind === "video" ? order.wanted.seconds : 0,
    framespersecond: 24,
  };
}

const unknownTask = (reply: FastifyReply) => sendCaptured(reply, "byteplus/not-found");
