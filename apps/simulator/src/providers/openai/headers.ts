// The headers that OpenAI sets on its answers.
import type { OutgoingHttpHeaders } from "node:http";
import { uniqueHex } from "../../request/simulation.ts";

/** `requestId` is OpenAI's own, not the client's. */
export function answerHeaders(requestId: string = `req_${uniqueHex(32)}`): OutgoingHttpHeaders {
  return {
    "x-request-id": requestId,
    "openai-version": "2020-10-01",
    "openai-processing-ms": "1",
    "x-ratelimit-limit-requests": "10000",
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-reset-requests": "6ms",
  };
}
