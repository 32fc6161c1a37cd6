// The key that a caller sends, in whichever header its provider wants it. Any is valid but the one called "invalid".
import type { FastifyRequest } from "fastify";

/** @param scheme what stands before the key, for example "Bearer"; empty where the header is the key alone */
export function keyOf({ headers }: FastifyRequest, header: string, scheme: string): string | undefined {
  const [value = ""] = [headers[header] ?? ""].flat();
  const [first = "", second = "", ...rest] = value.trim().split(/ +/);
  if (scheme === "") return first !== "" && second === "" ? first : undefined;
  const fits = first.toLowerCase() === scheme.toLowerCase() && second !== "" && rest.length === 0;
  return fits ? second : undefined;
}
