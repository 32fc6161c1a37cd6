// FakeUpstream is a text upstream at the process edge: it answers GET /models by a script, and counts the requests.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeUpstream {
  readonly url: string;
  /** Requests so far. */
  asked: number;
  lastRequest: IncomingMessage | undefined;
  respond: (response: ServerResponse) => void;
  close(): Promise<void>;
}

export async function startFakeUpstream(respond: FakeUpstream["respond"], port = 0): Promise<FakeUpstream> {
  const server = createServer((request, response) => {
    upstream.asked += 1;
    upstream.lastRequest = request;
    upstream.respond(response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const upstream: FakeUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    asked: 0,
    lastRequest: undefined,
    respond,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return upstream;
}

export const json = (body: unknown) => (response: ServerResponse) => {
  response.setHeader("content-type", "application/json");
  response.end(typeof body === "string" ? body : JSON.stringify(body));
};

/** A listing of OpenRouter's shape with these rows. */
export const listing = (...rows: unknown[]) => json({ data: rows });

/** A row in OpenRouter's format; the fields replace those of a plain text model. */
export function openRouterRow(id: string, fields: Record<string, unknown> = {}) {
  return {
    id,
    canonical_slug: id,
    name: `Name of ${id}`,
    created: 1_767_225_600,
    context_length: 128_000,
    architecture: { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"] },
    pricing: {
      prompt: "0.0000005",
      completion: "0.0000015",
      request: "0",
      image: "0",
      internal_reasoning: "0",
    },
    top_provider: { context_length: 128_000, max_completion_tokens: 16_000, is_moderated: false },
    supported_parameters: ["max_tokens", "temperature", "tools"],
    expiration_date: null,
    ...fields,
  };
}
