// Parts of the gateway that tests outside of it read or build by themselves: the table of routes, and the memory of keys.
// The gateway itself is behind the other two doors; no program imports this one.
export { REFERENCE_PATHS } from "./api-reference.ts";
export { routeTable, rowOf } from "./routes.ts";
export { VerifiedKeys } from "./verified-keys.ts";
