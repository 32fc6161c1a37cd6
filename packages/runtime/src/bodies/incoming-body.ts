// What is decided about a body before and while it is read: whether its sender may send so much at all, and whether the
// process has room for it. Small bodies are read without asking, so most requests pay nothing here.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Allowance, ByteBudget } from "./byte-budget.ts";
import { askedLength } from "./expected-bodies.ts";
import type { StringWatcher } from "./json-guard.ts";

/** Up to here a body is not counted. */
const SMALL_BODY = 64 * 1024;

/** What a module demands of the senders of its bodies. */
export interface BodyRules {
  /** As much of a body is read whoever sends it. */
  readonly freeBytes: number;
  /** Asked before more is read. @throws ServiceError that the sender is told instead */
  readonly admit: (request: FastifyRequest) => Promise<void>;
  /** Of all bodies that the module's requests hold. */
  readonly budget: ByteBudget;
  /** Whose share of the budget a request takes. */
  readonly ownerOf: (request: FastifyRequest) => string;
  /** Undefined for a request whose body is not counted. */
  readonly meter?: (request: FastifyRequest) => BodyMeter | undefined;
}

/** Counts one body while it arrives, and may refuse it before its end. */
export interface BodyMeter extends StringWatcher {
  /**
   * Called when more of a long JSON body has been checked; nothing more is read before it resolves.
   * @param isWhole nothing follows. @throws ServiceError that the sender is told instead
   */
  counted(isWhole: boolean): Promise<void>;
}

/** A body whose length is not known to be small. */
interface IncomingBody {
  /** Account whose share of the process its reading takes. */
  readonly owner: string;
  /** Aborts when the exchange with the client has ended. */
  readonly signal: AbortSignal;
  readonly meter: BodyMeter | undefined;
  /** To be called with an announced length that the route allows. @throws ServiceError when there is no room for it */
  expect(bytes: number): void;
  /** To be called with what has arrived, before it is kept. @throws ServiceError when it is too much */
  take(bytes: number): void;
}

const bodies = new WeakMap<FastifyRequest, IncomingBody>();
const allowances = new WeakMap<FastifyRequest, Allowance>();

/** Undefined when there is nothing to heed. */
export function incomingBodyOf(request: FastifyRequest): IncomingBody | undefined {
  return bodies.get(request);
}

/** Bytes; undefined when the client does not say. */
export function announcedLength({ headers }: FastifyRequest): number | undefined {
  const { "content-length": given } = headers;
  return given === undefined ? undefined : Number(given);
}

/** What a request holds of the budget: its body, and whatever else is taken for it until it has ended. */
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

/** Applies the rules to the routes of a scope that take bodies. */
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
      // Without a length it may be short after all.
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
    take: (bytes) => allowance.take(bytes),
  };
}

function upTo(most: number, body: IncomingBody, refusal: Error): IncomingBody {
  let left = most;
  return {
    ...body,
    expect: (bytes) => body.expect(Math.min(bytes, most)),
    take: (bytes) => {
      left -= bytes;
      if (left < 0) throw refusal;
      body.take(bytes);
    },
  };
}
