// The runtime: how modules become processes, find each other and answer. Mechanisms only, no product nouns.
export { ArrivingBytes } from "./arriving-bytes.ts";
export { type Batcher, type BatcherOptions, createBatcher } from "./batcher.ts";
export { type Allowance, ByteBudget } from "./byte-budget.ts";
export { type Clock, systemClock, type Timer } from "./clock.ts";
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
  redisConfig,
  stopConfig,
} from "./config.ts";
export { inRequest, type Within, withinCurrentRequest } from "./current-request.ts";
export { hasEntityTag } from "./entity-tag.ts";
export { FairGate, type FairGateOptions, type FairWork } from "./fair-gate.ts";
export { parseForeignJson, readForeignJson } from "./foreign-json.ts";
export type { MountPoint } from "./forward-request.ts";
export { closeHttpApp, createHttpApp, drainHttpApp, pathOf, routeNotFound } from "./http-app.ts";
export { allowanceOf, type BodyMeter, type BodyRules, incomingBodyOf } from "./incoming-body.ts";
export { parseJsonBytes } from "./json-body.ts";
export { endOfJsonString, guardJson, JsonGuard, OF_REQUESTS, type StringPlace } from "./json-guard.ts";
export { listenError } from "./listen.ts";
export { createLogger, type Logger } from "./logger.ts";
export { IDLE_BYTES, memoryShares } from "./memory-shares.ts";
export { migrate } from "./migrate.ts";
export {
  defineModule,
  implement,
  type Module,
  type ModuleContext,
  type ModuleInstance,
  type RpcService,
} from "./module.ts";
export { admitStranger, type ConnectionLimits, knowConnection } from "./open-connections.ts";
export { OperatorError, sentenceOf } from "./operator-error.ts";
export { LONGEST_PAGE, type Page, pageFields, pageOf, wholeNumber } from "./page-fields.ts";
export { loopTurns } from "./parse-in-turns.ts";
export { parseRequest } from "./parse-request.ts";
export { pause } from "./pause.ts";
export { addressVariables, createRemoteTransport } from "./peers.ts";
export {
  connectPostgres,
  inTransaction,
  isConnectionError,
  isServerTrouble,
  type Pool,
  type PoolClient,
  sqlStateOf,
} from "./postgres.ts";
export { PRINCIPAL_HEADER, signPrincipal } from "./principal.ts";
export { type ProcessMemory, processMemory } from "./process-memory.ts";
export { createReadyCheck } from "./ready-check.ts";
export { connectRedis, openRedis, type Redis, type RedisScript, redisScript } from "./redis.ts";
export { RedisGate, type RedisGateMessages } from "./redis-gate.ts";
export { countHeader } from "./refuse-ambiguous.ts";
export { renderError } from "./render-error.ts";
export { type RestApi, type RestRequest, type RestRoute, restRoute } from "./rest-api.ts";
export { type Rounds, startRounds } from "./rounds.ts";
export {
  buildSentence,
  type RunningProcess,
  run,
  runUntilSignal,
  type StartOptions,
  startProcess,
} from "./run.ts";
export { openPool, type PostgresConfig, requireSchema } from "./schema.ts";
export { type CallOptions, createServiceClient, type ServiceClient } from "./service-client.ts";
export { removeSignedIn, reportSignedIn } from "./session-header.ts";
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
} from "./spans.ts";
export { setPrincipal } from "./trace-requests.ts";
export type { Tracing } from "./tracing.ts";
export { trimSlashes } from "./trim-slashes.ts";
export type { AnswerLimits, CutCause } from "./unread-answers.ts";
