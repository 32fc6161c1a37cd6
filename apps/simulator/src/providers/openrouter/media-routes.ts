// OpenRouter's image and video API: images immediately, videos as jobs. Their content needs the key.
import type { FastifyInstance } from "fastify";
import { formatUsd } from "../../bill/prices.ts";
import type { Billed } from "../../media/media-order.ts";
import type { JobState, JobView, MediaRoom } from "../../media/media-room.ts";
import { callerRequestId, uniqueHex, unixSeconds } from "../../request/simulation.ts";
import { sendNotFound } from "./errors.ts";
import { readImageOrder, readVideoOrder } from "./media-request.ts";

const STATUS: Readonly<Record<JobState, string>> = {
  queued: "pending",
  running: "in_progress",
  done: "completed",
  failed: "failed",
  blocked: "failed",
  cancelled: "cancelled",
};
const ERROR: Partial<Readonly<Record<JobState, string>>> = {
  failed: "The provider could not make the video.",
  blocked: "The provider's moderation refused the video.",
};

export function openRouterMediaRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.post("/images", async (request, reply) => {
      const requestId = callerRequestId(request.headers) ?? `gen-${unixSeconds()}-${uniqueHex(20)}`;
      const count = await media.generate(readImageOrder(request.body, requestId), reply);
      if (count === undefined) return reply;
      const data = count.files.map(
        ({ bytes, type }) => `{"b64_json":"${bytes.toString("base64")}","media_type":"${type}"}`,
      );
      const body = `{"created":${unixSeconds()},"data":[${data.join(",")}],"usage":${usageOf(count.billed)}}`;
      return reply.type("application/json").send(body);
    });

    app.post("/videos", (request, reply) => {
      const requestId = callerRequestId(request.headers) ?? `gen-${unixSeconds()}-${uniqueHex(20)}`;
      const order = readVideoOrder(request.body, requestId);
      media.moderate(order);
      const job = media.submit(order, reply);
      if (job === undefined) return reply;
      return reply
        .code(202)
        .type("application/json")
        .send(videoOf(job, `http://${request.host}`));
    });

    app.get<{ Params: { id: string } }>("/videos/:id", (request, reply) => {
      const job = media.poll(request.params.id);
      if (job === undefined) return sendNotFound(reply);
      return reply.type("application/json").send(videoOf(job, `http://${request.host}`));
    });

    app.get<{ Params: { id: string } }>("/videos/:id/content", (request, reply) => {
      const [file] = media.look(request.params.id)?.files ?? [];
      const kept = file === undefined ? undefined : media.files.find(file.name);
      if (kept === undefined) return sendNotFound(reply);
      return reply.type(kept.type).send(kept.bytes);
    });
  };
}

/** As text: the cost is an exact decimal number. */
function videoOf({ id, state, billed }: JobView, host: string): string {
  const polling = `${host}/openrouter/api/v1/videos/${id}`;
  const head = JSON.stringify({
    id,
    polling_url: polling,
    status: STATUS[state],
    ...(ERROR[state] === undefined ? {} : { error: ERROR[state] }),
    ...(state === "done"
      ? { generation_id: `gen-${id}`, unsigned_urls: [`${polling}/content?index=0`] }
      : {}),
  });
  if (state !== "done" || billed === undefined) return head;
  return `${head.slice(0, -1)},"usage":${usageOf(billed)}}`;
}

function usageOf({ picoUsd }: Billed): string {
  return `{"cost":${formatUsd(picoUsd)},"is_byok":false}`;
}
