// Reads pictures from data URIs within JSON.
import { Refusal } from "../request/refusal.ts";

const DATA_URI = /^data:image\/(?:png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})$/;

/** Other addresses are refused: the simulator sends no requests. @throws Refusal */
export function readDataUri(uri: string, field: string): Buffer {
  const data = DATA_URI.exec(uri)?.[1];
  if (data === undefined) throw new Refusal("invalid", `${field} must be a data URI of a picture`, field);
  return Buffer.from(data, "base64");
}
