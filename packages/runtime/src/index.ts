// The runtime: how modules become processes, find each other and answer. Mechanisms only, no product nouns.

export { ArrivingBytes } from "./bodies/arriving-bytes.ts";
export { type Allowance, ByteBudget } from "./bodies/byte-budget.ts";
export { FairGate, type FairGateOptions, type FairWork } from "./bodies/fair-gate.ts";
export { parseForeignJson, readForeignJson } from "./bodies/foreign-json.ts";
export { FormFile, type FormRules } from "./bodies/form-body.ts";
export { allowanceOf, type BodyMeter, type BodyRules, incomingBodyOf } from "./bodies/incoming-body.ts";
export { layoutOfLong, parseJsonBytes } from "./bodies/json-body.ts";
export { endOfJsonString, guardJson, JsonGuard, OF_REQUESTS, type StringPlace } from "./bodies/json-guard.ts";
export { type Member, type ObjectLayout, stringLengthIn } from "./bodies/parse-in-slices.ts";
export { loopTurns } from "./bodies/parse-in-turns.ts";
export { parseRequest } from "./bodies/parse-request.ts";
export { carefulTime } from "./database/careful-time-store.ts";
export { migrate } from "./database/migrate.ts";
export {
  connectPostgres,
  inTransaction,
  isConnectionError,
  isServerTrouble,
  type Pool,
  type PoolClient,
  sqlStateOf,
} from "./database/postgres.ts";
export { connectRedis, openRedis, type Redis, type RedisScript, redisScript } from "./database/redis.ts";
export { RedisGate, type RedisGateMessages } from "./database/redis-gate.ts";
export { isUuid, UUID, UUID_PATTERN } from "./database/uuid.ts";
export { hasEntityTag } from "./http/entity-tag.ts";
export type { MountPoint } from "./http/forward-request.ts";
export {
  closeHttpApp,
  createHttpApp,
  drainHttpApp,
  pathOf,
  registerScope,
  routeNotFound,
  withoutEndSlash,
} from "./http/http-app.ts";
export { admitStranger, type ConnectionLimits, trustConnection } from "./http/open-connections.ts";
export { LONGEST_PAGE, type Page, pageFields, pageOf, wholeNumber } from "./http/page-fields.ts";
export { countHeader } from "./http/refuse-ambiguous.ts";
export { renderError } from "./http/render-error.ts";
export {
  type Access,
  ALIAS,
  anyone,
  type RestApi,
  type RestRequest,
  type RestRoute,
  restRoute,
} from "./http/rest-api.ts";
export { removeSignedIn, reportSignedIn } from "./http/session-header.ts";
export type { AnswerLimits, CutCause } from "./http/unread-answers.ts";
export { idempotencyKeyOf } from "./idempotency-key.ts";
export { defineModule, type Module, type ModuleContext, type ModuleInstance } from "./module.ts";
export { addressVariables, createRemoteTransport } from "./peers.ts";
export { type Clock, nextTurn, systemClock, type Timer } from "./process/clock.ts";
export {
  dataDirConfig,
  type Environment,
  LAST_WORDS_MS,
  longestStopMs,
  milliseconds,
  port,
  postgresConfig,
  processConfig,
  readConfig,
  readJsonSetting,
  redisConfig,
  refuseProblems,
  settingText,
  stopConfig,
  vendorName,
  vendorNameOf,
} from "./process/config.ts";
export { inRequest, type Within, withinCurrentRequest } from "./process/current-request.ts";
export { listenError } from "./process/listen.ts";
export { createLogger, type Logger } from "./process/logger.ts";
export { IDLE_BYTES, memoryShares } from "./process/memory-shares.ts";
export { OperatorError, sentenceOf } from "./process/operator-error.ts";
export { pause } from "./process/pause.ts";
export { type ProcessMemory, processMemory } from "./process/process-memory.ts";
export { createReadyCheck } from "./process/ready-check.ts";
export { type Rounds, startRounds } from "./process/rounds.ts";
export { toSigningKey, toSigningKeyOfFile } from "./process/signing-key.ts";
export { strayNames } from "./process/stray-names.ts";
export { trimSlashes } from "./process/trim-slashes.ts";
export { type Batcher, type BatcherOptions, createBatcher } from "./rpc/batcher.ts";
export { PRINCIPAL_HEADER, signPrincipal } from "./rpc/principal.ts";
export { implement, type RpcService } from "./rpc/rpc-service.ts";
export {
  addressFor,
  type CallOptions,
  createServiceClient,
  type ServiceClient,
} from "./rpc/service-client.ts";
export {
  buildSentence,
  type RunningProcess,
  run,
  runUntilSignal,
  type StartOptions,
  startProcess,
} from "./run.ts";
export { openPool, type PostgresConfig, requireSchema } from "./schema.ts";
export { csvLine } from "./streams/csv-line.ts";
export { dataOf, endOfEvent, SseSplitter } from "./streams/sse-splitter.ts";
export { STREAM_HEADERS } from "./streams/stream-headers.ts";
export {
  type Attributes,
  currentSpan,
  errorType,
  failSpan,
  inSpan,
  outwardTraceHeaders,
  type Span,
  SpanKind,
  serverOf,
} from "./telemetry/spans.ts";
export { setPrincipal } from "./telemetry/trace-requests.ts";
export type { Tracing } from "./telemetry/tracing.ts";
