// Who calls: the principal of a request, and what API keys and web tokens look like. The gateway checks their form,
// the keys service makes them.
export { checksumOf, isWellFormedKey, KEY_PREFIX, looksLikeWebToken, makeKeySecret } from "./key-format.ts";
export { expiredKey, invalidKey, managementKey, normalKey } from "./key-refusals.ts";
export type { Principal } from "./principal.ts";
