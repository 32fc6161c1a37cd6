// The record of one request, for the API, the console and the command line. A browser loads it, so it imports only zod.
export * from "./request-price.ts";
export * from "./request-record.ts";
export * from "./saved-text.ts";
