// Step encoder owns the bytes of a batch of steps. Rows of one shape (the same nulls and texts) differ in numbers and ids only:
// the encoder copies a template of the shape and writes these into it.
import { STEP_KINDS, type Step } from "@gr/ledger";
import { encodeRow, offsetsIn, writeAmount, writeArrayHeader, writeInt8, writeUuid } from "./binary-rows.ts";
import { bucketOf } from "./bucket.ts";
import { AT, STEP_COLUMNS, valuesOf } from "./step-columns.ts";

interface Template {
  readonly bytes: Buffer;
  /** Offset of each column's value in `bytes`; -1 = null. */
  readonly offsets: Int32Array;
}

const MOST_TEMPLATES = 1_000;
const HEADER_BYTES = 20;
const templates = new Map<string, Template>();

/** Encodes an array of `step_in`. @param oid of the type `step_in` */
export function encodeSteps(steps: readonly Step[], oid: number): Buffer {
  const shapes = steps.map(templateOf);
  const target = Buffer.allocUnsafe(shapes.reduce((sum, { bytes }) => sum + bytes.length, HEADER_BYTES));
  let at = writeArrayHeader(target, steps.length, oid);
  for (const [index, step] of steps.entries()) {
    const template = shapes[index];
    if (template === undefined) continue;
    template.bytes.copy(target, at);
    writeNumbers(target, step, template.offsets, at);
    at += template.bytes.length;
  }
  return target.subarray(0, at);
}

/** A step with a detail has a text of its own, so its bytes serve no other row. */
function templateOf(step: Step): Template {
  if (step.detail !== null) return newTemplate(step);
  const shape = shapeOf(step);
  const known = templates.get(shape);
  if (known !== undefined) return known;
  if (templates.size >= MOST_TEMPLATES) templates.clear();
  const template = newTemplate(step);
  templates.set(shape, template);
  return template;
}

function newTemplate(step: Step): Template {
  const bytes = encodeRow(STEP_COLUMNS, valuesOf(step));
  return { bytes, offsets: offsetsIn(STEP_COLUMNS, bytes) };
}

/** Texts are separated by a character that PostgreSQL stores in no text. */
function shapeOf({ tag, budgets, placeSeq, deadlineAt, claim, billedBy }: Step): string {
  const nulls = `${budgets.length}${placeSeq === null}${deadlineAt === null}${claim === null}`;
  const billing = billedBy === null ? "" : `\0${billedBy}`;
  if (tag === null) return `${nulls}${billing}`;
  const { service, provider, upstreamModel, model, priceVersion } = tag;
  return `${nulls}${billing}\0\0${service}\0${provider}\0${upstreamModel}\0${model}\0${priceVersion}`;
}

const COLUMN = {
  seq: column("seq"),
  credits: column("credits"),
  placeSeq: column("place_seq"),
  deadlineAt: column("deadline_at"),
  credited: column("credited"),
  used1: column("used1"),
  bucket: column("bucket"),
  budget1: column("budget1"),
  attempt: column("attempt"),
  claim: column("claim"),
};

function column(name: string): number {
  const index = AT[name];
  if (index === undefined) throw new RangeError(`The type step_in has no column ${name}.`);
  return index;
}

/** @param at offset of the row in `target` */
function writeNumbers(target: Buffer, step: Step, offsets: Int32Array, at: number): void {
  const of = (index: number) => at + (offsets[index] ?? 0);
  const { seq, credits, credited, used1, bucket, budget1, attempt } = COLUMN;
  writeUuid(target, step.accountId, of(0));
  writeUuid(target, step.id, of(1));
  writeInt8(target, step.seq, of(seq));
  writeInt8(target, step.at, of(seq + 1));
  writeAmount(target, step.credits, of(credits));
  writeAmount(target, step.charge, of(credits + 1));
  writeAmount(target, step.cost, of(credits + 2));
  if (step.placeSeq !== null) writeInt8(target, step.placeSeq, of(COLUMN.placeSeq));
  if (step.deadlineAt !== null) writeInt8(target, step.deadlineAt, of(COLUMN.deadlineAt));
  writeAmount(target, step.credited, of(credited));
  writeAmount(target, step.debited, of(credited + 1));
  writeAmount(target, step.held, of(credited + 2));
  for (const [level, after] of step.budgets.entries()) {
    writeAmount(target, after.used, of(used1 + 2 * level));
    writeAmount(target, after.held, of(used1 + 2 * level + 1));
    target.writeInt32BE(after.budget, of(budget1 + 2 * level));
    target.writeInt32BE(after.window, of(budget1 + 2 * level + 1));
  }
  target.writeInt32BE(bucketOf(step.accountId), of(bucket));
  target.writeInt32BE(step.attempt, of(attempt));
  target.writeInt16BE(STEP_KINDS[step.kind], of(attempt + 1));
  if (step.claim !== null) target.write(step.claim.key, of(COLUMN.claim), "hex");
}
