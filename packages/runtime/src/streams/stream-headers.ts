// Headers of an answer of server-sent events, the same for every service that streams.

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  // Keeps buffering proxies from delaying the events.
  "x-accel-buffering": "no",
} as const;
