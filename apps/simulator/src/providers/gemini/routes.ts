// Google's HTTP surface, to be mounted at /gemini/v1beta.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { MediaRoom } from "../../media/media-room.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { keyOf } from "../../request/key.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex } from "../../request/simulation.ts";
import { contentAnswer, readContentRequest } from "./content.ts";
import { interactionView, readInteraction } from "./interactions.ts";

const GENERATE = ":generateContent";
const DOWNLOAD = ":download";

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

/** Link that needs the key. */
const fileLink = (request: FastifyRequest) => (name: string) =>
  `http://${request.host}/gemini/v1beta/files/${name}${DOWNLOAD}?alt=media`;

export function geminiRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(
      refusalHandler({ provider: "gemini", values: ({ message }) => ({ "error.message": message }) }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "x-goog-api-key", "");
      if (key !== undefined && key !== "invalid") next();
      else sendCaptured(reply, "gemini/bad-key");
    });

    app.post<{ Params: { call: string } }>("/models/:call", async (request, reply) => {
      const { call } = request.params;
      if (!call.endsWith(GENERATE)) return sendCaptured(reply, "gemini/not-found");
      const asked = readContentRequest(call.slice(0, -GENERATE.length), request.body, requestIdOf(request));
      const count = await media.generate(asked.order, reply);
      return count === undefined ? reply : reply.send(contentAnswer(asked, count));
    });

    app.post("/interactions", (request, reply) => {
      const job = media.submit(readInteraction(request.body, requestIdOf(request)), reply);
      return job === undefined ? reply : reply.send(interactionView(job, fileLink(request)));
    });

    app.get<{ Params: { id: string } }>("/interactions/:id", (request, reply) => {
      const job = media.poll(request.params.id);
      return job === undefined
        ? unknownInteraction(reply)
        : reply.send(interactionView(job, fileLink(request)));
    });

    app.post<{ Params: { id: string } }>("/interactions/:id/cancel", (request, reply) => {
      const job = media.cancel(request.params.id);
      return job === undefined
        ? unknownInteraction(reply)
        : reply.send(interactionView(job, fileLink(request)));
    });

    app.get<{ Params: { name: string }; Querystring: { alt?: string } }>("/files/:name", (request, reply) => {
      const { name } = request.params;
      const isDownload = name.endsWith(DOWNLOAD) && request.query.alt === "media";
      const file = isDownload ? media.files.find(name.slice(0, -DOWNLOAD.length)) : undefined;
      if (file !== undefined) return reply.type(file.type).send(file.bytes);
      return sendCaptured(reply, "gemini/not-found");
    });
  };
}

const unknownInteraction = (reply: FastifyReply) => sendCaptured(reply, "gemini/unknown-interaction");
