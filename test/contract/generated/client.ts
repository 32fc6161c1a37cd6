// A program as somebody writes it who has nothing but the description of the API: `api.ts` is generated from that beside a
// copy of this file. It prints what it saw as one line of JSON.
import createClient from "openapi-fetch";
import type { paths } from "./api.ts";

const { BASE_URL: baseUrl = "", API_KEY: apiKey = "", MANAGEMENT_KEY: managementKey = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${apiKey}` } });
const manager = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${managementKey}` } });
type Json = "application/json";
const json = createClient<paths, Json>({ baseUrl, headers: { authorization: `Bearer ${apiKey}` } });

const CHAT = "/v1/compat/chat/completions";
const messages = [{ role: "user" as const, content: "Is the sea blue?" }];

/** What an answer must have been; the error tells why it was not. */
function good<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function chat() {
  const { choices, usage, cost } = good(await json.POST(CHAT, { body: { model: "sandbox/chat", messages } }));
  const params = { header: { "Idempotency-Key": crypto.randomUUID() } };
  const answer = await client.POST(CHAT, {
    params,
    body: { model: "sandbox/chat", messages, stream: true },
    parseAs: "stream",
  });
  let events = "";
  const decoder = new TextDecoder();
  for await (const piece of good(answer) ?? []) events += decoder.decode(piece, { stream: true });
  return {
    text: choices[0]?.message.content,
    tokens: usage.total_tokens,
    cost,
    events: events.split("\n\n").filter((event) => event.startsWith("data: ")),
    requestId: answer.response.headers.get("x-request-id"),
  };
}

async function images() {
  const created = good(
    await json.POST("/v1/compat/images/generations", {
      body: { model: "sandbox/image", prompt: "a lighthouse", output_format: "png", n: 2 },
    }),
  );
  const [first] = created.data;
  const name = first?.url?.split("/").at(-1) ?? "";
  const file = good(await client.GET("/media/{name}", { params: { path: { name } }, parseAs: "blob" }));
  const edited = await json.POST("/v1/compat/images/edits", {
    body: { model: "sandbox/image-edit", prompt: "at night", "image[]": ["the picture, below"] },
    bodySerializer: ({ model, prompt }) => {
      const form = new FormData();
      form.append("model", model);
      form.append("prompt", prompt ?? "");
      form.append("image[]", file as Blob, name);
      return form;
    },
  });
  return {
    urls: created.data.length,
    cost: created.cost,
    type: (file as Blob).type,
    bytes: (file as Blob).size,
    edited: good(edited).data.length,
  };
}

async function responsesAndVideos() {
  const body = { model: "sandbox/chat", input: "Is the sea blue?" };
  const response = good(await json.POST("/v1/compat/responses", { body }));
  const film = { model: "sandbox/video", prompt: "a fox", seconds: 1 };
  const job = good(await json.POST("/v1/compat/videos", { body: film }));
  const path = { id: job.id };
  const found = good(await client.GET("/v1/compat/videos/{id}", { params: { path } }));
  const { data } = good(await manager.GET("/v1/account/webhooks/receivers"));
  return { response: response.object, job: found.object, receivers: data.length };
}

async function generations() {
  const { data } = good(
    await client.GET("/v1/generations", { params: { query: { limit: 2, kind: "image" } } }),
  );
  const [newest] = data;
  const path = { id: newest?.id ?? "" };
  const entry = good(await client.GET("/v1/generations/{id}", { params: { path } }));
  return { listed: data.length, model: entry.model, cost: entry.cost };
}

async function models() {
  const { data } = good(
    await client.GET("/v1/models", { params: { query: { type: "image", sort: "price", limit: 3 } } }),
  );
  const path = { path: "sandbox/image" };
  return { listed: data.length, found: good(await client.GET("/v1/models/{path}", { params: { path } })).id };
}

async function keys() {
  const minted = good(
    await manager.POST("/v1/api-keys", {
      body: { name: "generated", spend_limit: 1, spend_limit_period: "day" },
    }),
  );
  const { data } = good(await manager.GET("/v1/api-keys", { params: { query: { limit: 100 } } }));
  const path = { id: minted.id };
  const { deleted } = good(await manager.DELETE("/v1/api-keys/{id}", { params: { path } }));
  return { secret: minted.key.length > 0, listed: data.some(({ id }) => id === minted.id), deleted };
}

async function refusals() {
  const unknown = await client.POST(CHAT, { body: { model: "no/such", messages } });
  // @ts-expect-error a request without its model does not compile
  const missing = await client.POST(CHAT, { body: { messages } });
  const { error: unsigned } = await manager.GET("/v1/credits");
  return [unknown.error?.error.code, missing.error?.error.param, unsigned?.error.type];
}

async function money() {
  const { cost } = good(
    await client.POST("/v1/quote/chat/completions", { body: { model: "sandbox/chat", messages } }),
  );
  const credits = good(await client.GET("/v1/credits", { params: { query: { by_api_key: "true" } } }));
  return { cost, remaining: credits.remaining_credits, keys: credits.usage_by_api_key?.length };
}

const report = {
  chat: await chat(),
  images: await images(),
  generations: await generations(),
  models: await models(),
  keys: await keys(),
  refusals: await refusals(),
  money: await money(),
  others: await responsesAndVideos(),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
