// OpenRouter's chat completions: the whole answer, and the stream with its usage in the last chunk.
import type { TextWire } from "../text-exchange.ts";
import { chatUsage } from "./usage-json.ts";

/** The name of the provider behind the router. */
export const PROVIDER_NAME = "Sandbox";

/** Sent while a real model would still be reading the prompt. */
export const PROCESSING_COMMENT = ": OPENROUTER PROCESSING\n\n";

export const openRouterChat: TextWire = {
  headers: (answer) => ({ "x-generation-id": answer.id }),

  whole: (answer, usage) =>
    `{"id":"${answer.id}","object":"chat.completion","created":${answer.created},` +
    `"model":"${answer.request.model.id}","provider":"${PROVIDER_NAME}","system_fingerprint":null,` +
    `"choices":[{"index":0,"logprobs":null,"finish_reason":"${answer.reply.finish}",` +
    `"native_finish_reason":"${answer.reply.finish}","message":{"role":"assistant",` +
    `"content":${JSON.stringify(answer.reply.tokens.join(""))},"refusal":null,"reasoning":null}}]` +
    `${usage === undefined ? "" : `,"usage":${chatUsage(usage)}`}}`,

  frames: (answer) => {
    const head =
      `data: {"id":"${answer.id}","provider":"${PROVIDER_NAME}","model":"${answer.request.model.id}",` +
      `"object":"chat.completion.chunk","created":${answer.created},` +
      `"choices":[{"index":0,"delta":{"role":"assistant","content":`;
    const open = `},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]`;
    const { finish } = answer.reply;
    return {
      opening: () => `${PROCESSING_COMMENT}${head}""${open}}\n\n`,
      token: (text) => `${head}${JSON.stringify(text)}${open}}\n\n`,
      ending: () =>
        `${head}""},"finish_reason":"${finish}","native_finish_reason":"${finish}","logprobs":null}]}\n\n`,
      closing: (usage) =>
        `${usage === undefined ? "" : `${head}""${open},"usage":${chatUsage(usage)}}\n\n`}data: [DONE]\n\n`,
    };
  },
};
