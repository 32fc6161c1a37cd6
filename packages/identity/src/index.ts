// Identity owns the principal of a request, and the form of API keys and web tokens.
// The gateway checks their form, and the keys service creates them.
export { allowsModel, namesModel, requireAllowed } from "./allow-lists.ts";
export { checksumOf, createKeySecret, isWellFormedKey, KEY_PREFIX, looksLikeWebToken } from "./key-format.ts";
export { expiredKey, invalidKey, managementKey, normalKey, optionalKey } from "./key-refusals.ts";
export { type AllowLists, type Principal, RESPONSE_FORMATS, type ResponseFormat } from "./principal.ts";
