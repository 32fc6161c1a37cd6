// Body admission decides before and while a body is read: its sender may send that much, and the process has room for
// it. Small bodies are read without these checks, so most requests pay nothing here.
import type { ServiceError } from "@gr/proto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Allowance, ByteBudget } from "./byte-budget.ts";
import { askedLength } from "./expected-bodies.ts";
import type { StringWatcher } from "./json-guard.ts";

/** Bytes up to which a body is not counted. */
const SMALL_BODY = 64 * 1024;

/** A module's rules for the senders of its bodies. */
export interface BodyRules {
  /** Bytes read before the sender is checked. */
  readonly freeBytes: number;
  /** Called before more is read. @throws ServiceError for the sender */
  readonly admit: (request: FastifyRequest) => Promise<void>;
  /** Budget for all bodies of the module's requests. */
  readonly budget: ByteBudget;
  /** Returns the owner of the share that a request uses. */
  readonly ownerOf: (request: FastifyRequest) => string;
  /** Undefined for a request with an uncounted body. */
  readonly meter?: (request: FastifyRequest) => BodyMeter | undefined;
}

/** Counts one body while it arrives, and may refuse it before its end. */
export interface BodyMeter extends StringWatcher {
  /**
   * Called after another part of a long JSON body was checked; nothing more is read before it resolves.
   * @param isWhole true if the body is complete. @throws ServiceError for the sender
   */
  counted(isWhole: boolean): Promise<void>;
}

/** A body that may be large. */
interface IncomingBody {
  /** Account with the share of the process that its reading uses. */
  readonly owner: string;
  /** Aborts when the exchange with the client has ended. */
  readonly signal: AbortSignal;
  readonly meter: BodyMeter | undefined;
  /** Must be called with an announced length that the route allows. @throws ServiceError if there is no room for it */
  expect(bytes: number): void;
  /** Must be called with arrived bytes before they are stored. @throws ServiceError if they are too many */
  reserve(bytes: number): void;
}

const bodies = new WeakMap<FastifyRequest, IncomingBody>();
const allowances = new WeakMap<FastifyRequest, Allowance>();

/** Undefined if there are no rules. */
export function incomingBodyOf(request: FastifyRequest): IncomingBody | undefined {
  return bodies.get(request);
}

/** Returns bytes; undefined if the client announces none. */
export function announcedLength({ headers }: FastifyRequest): number | undefined {
  const { "content-length": declared } = headers;
  return declared === undefined ? undefined : Number(declared);
}

/**
 * Returns a function to call with arrived bytes before they are stored. It counts them against the limit of the route
 * and against the rules for the sender, and returns the bytes of the body so far.
 * @param unannounced bytes that count as announced if the client announces none
 * @throws ServiceError for too many announced bytes; the function throws for too many arrived bytes
 */
export function byteCounter(
  request: FastifyRequest,
  limits: { readonly limit: number; readonly unannounced: number; readonly excess: () => ServiceError },
): (bytes: number) => number {
  const { limit, unannounced, excess } = limits;
  const announced = announcedLength(request) ?? unannounced;
  if (announced > limit) throw excess();
  const incoming = bodies.get(request);
  incoming?.expect(announced);
  let arrived = 0;
  return (bytes) => {
    arrived += bytes;
    if (arrived > limit) throw excess();
    incoming?.reserve(bytes);
    return arrived;
  };
}

/** Returns the request's part of the budget: its body, and all other bytes for it until its end. */
export function allowanceOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { budget, ownerOf }: BodyRules,
): Allowance {
  const known = allowances.get(request);
  if (known !== undefined) return known;
  const allowance = budget.open(ownerOf(request));
  allowances.set(request, allowance);
  if (reply.raw.closed) allowance.leave();
  else reply.raw.once("close", () => allowance.leave());
  return allowance;
}

/** Applies the rules to the routes of a scope with bodies. */
export function admitBodies(scope: FastifyInstance, rules: BodyRules): void {
  const { freeBytes, admit } = rules;
  scope.addHook("onRequest", (request, reply, done) => {
    const asked = askedLength(request);
    const announced = asked === undefined ? announcedLength(request) : asked;
    const mayBeLong =
      announced === undefined ? request.headers["transfer-encoding"] !== undefined : announced > SMALL_BODY;
    if (!mayBeLong || request.routeOptions.config.bodyAs === "nothing") {
      done();
      return;
    }
    const allowance = allowanceOf(request, reply, rules);
    const body = incomingBody(request, reply, rules, allowance);
    bodies.set(request, body);
    if (announced !== undefined && announced <= freeBytes) {
      done();
      return;
    }
    const refused = (refusal: Error) => {
      // Without a length it may be short nevertheless.
      if (announced === undefined) bodies.set(request, upTo(freeBytes, body, refusal));
      done(announced === undefined ? undefined : refusal);
    };
    admit(request).then(() => done(), refused);
  });
}

function incomingBody(
  request: FastifyRequest,
  { raw }: FastifyReply,
  { ownerOf, meter }: BodyRules,
  allowance: Allowance,
): IncomingBody {
  const left = new AbortController();
  raw.once("close", () => left.abort(new Error("the client has left")));
  return {
    owner: ownerOf(request),
    signal: left.signal,
    meter: meter?.(request),
    expect: (bytes) => allowance.expect(bytes),
    reserve: (bytes) => allowance.reserve(bytes),
  };
}

function upTo(most: number, body: IncomingBody, refusal: Error): IncomingBody {
  let left = most;
  return {
    ...body,
    expect: (bytes) => body.expect(Math.min(bytes, most)),
    reserve: (bytes) => {
      left -= bytes;
      if (left < 0) throw refusal;
      body.reserve(bytes);
    },
  };
}
