// Checks a dump of the ledger without code of billing.
// Commands: psql -Atc "SELECT to_jsonb(s) FROM billing.step s ORDER BY bucket, account_id, seq" > steps.jsonl;
// psql -Atc "SELECT to_jsonb(s) FROM billing.seal s" > seals.jsonl;
// node check-dump.mjs steps.jsonl seals.jsonl
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const BLOCK_STEPS = 1_000n;
const [PLACE, EXTEND, CAPTURE, RELEASE, ABANDON, CARRY] = [2, 3, 5, 6, 7, 16];
const ENDS = [CAPTURE, RELEASE, ABANDON];
const CREDITING = [11, 12, 13, CARRY];
const LEVELS = [1, 2, 3, 4];
const PUBLIC = [
  "seq",
  "at",
  "kind",
  "id",
  "credits",
  "charge",
  "place_seq",
  "credited",
  "debited",
  "held",
  "model",
];
const PRIVATE = [
  "seq",
  "cost",
  "billed_by",
  "attempt",
  "deadline_at",
  "service",
  "provider",
  "upstream_model",
];
const NO_TOTALS = { credited: 0n, debited: 0n, held: 0n };

/** @returns problems, each as one sentence */
export async function checkDump(stepsFile, sealsFile) {
  const problems = [];
  const seals = Map.groupBy(await rowsOf(sealsFile), ({ account_id: id }) => id);
  const begun = new Set();
  let chain;
  for await (const line of linesOf(stepsFile)) {
    const step = rowOf(line);
    if (chain?.accountId !== step.account_id) {
      chain?.end();
      chain = new Chain(step.account_id, seals.get(step.account_id) ?? [], begun, problems);
      seals.delete(step.account_id);
    }
    chain.add(step);
  }
  chain?.end();
  for (const id of seals.keys()) problems.push(`Account ${id} has seals and no step.`);
  return problems;
}

class Chain {
  accountId;
  #problems;
  #begun;
  #seals;
  #before = { seq: 0n, at: 0n, ...NO_TOTALS };
  #windows = new Map();
  #holds = new Map();
  /** @type {{ lastSeq: bigint, hash: string | null }} */
  #sealed = { lastSeq: 0n, hash: null };
  #month = newMonth();
  #costs = { holds: 0n, charged: 0n, lost: 0n };

  constructor(accountId, seals, begun, problems) {
    this.accountId = accountId;
    this.#seals = seals.toSorted((one, other) => Number(one.ends_at - other.ends_at));
    this.#begun = begun;
    this.#problems = problems;
  }

  #expect(isTrue, seq, text) {
    if (!isTrue) this.#problems.push(`Account ${this.accountId}, step ${seq}: ${text}.`);
  }

  add(step) {
    const { seq, at, kind, credits, charge, credited, debited, held } = step;
    const before = this.#before;
    const [credit, change] = CREDITING.includes(kind) ? [credits, 0n] : [0n, credits];
    this.#expect(seq === before.seq + 1n, seq, "a step is missing before it");
    this.#expect(at >= before.at, seq, "it is earlier than the step before");
    const follows = credited === before.credited + credit && debited === before.debited + charge;
    this.#expect(follows && held === before.held + change, seq, "its totals do not follow");
    const isCarried = kind === PLACE && step.detail !== null;
    const reserves = (kind === PLACE || kind === EXTEND) && credits > 0n && !isCarried;
    this.#expect(!reserves || credited - debited >= held, seq, "its hold is above the balance");
    this.#expect(
      charge >= 0n && (charge === 0n || kind === CAPTURE || kind === CARRY),
      seq,
      "it charges without a hold",
    );
    for (const level of LEVELS) this.#addWindow(step, level, change);
    this.#addHold(step);
    if ([PLACE, 11, 12, 13].includes(kind)) {
      const key = `${step.bucket} ${step.id} ${kind}`;
      this.#expect(!this.#begun.has(key), seq, "its id has begun before");
      this.#begun.add(key);
    }
    this.#before = { seq, at, credited, debited, held };
    this.#addToMonth(step);
  }

  #addWindow(step, level, change) {
    const budget = step[`budget${level}`];
    if (budget === null) return;
    const name = `${budget} ${step[`window${level}`]}`;
    const [used, held] = this.#windows.get(name) ?? [0n, 0n];
    const after = [step[`used${level}`], step[`held${level}`]];
    const follows = after[0] === used + step.charge && after[1] === held + change;
    this.#expect(follows, step.seq, `its totals of budget ${budget} do not follow`);
    this.#windows.set(name, after);
  }

  #addHold({ seq, kind, id, credits, charge, place_seq: place }) {
    if (kind === PLACE) this.#holds.set(seq, { id, size: credits });
    if (kind !== EXTEND && !ENDS.includes(kind)) return;
    const hold = this.#holds.get(place);
    this.#expect(hold?.id === id, seq, "its hold is not open");
    if (hold === undefined) return;
    if (kind === EXTEND) {
      hold.size += credits;
      return;
    }
    this.#expect(
      credits === -hold.size && charge <= hold.size,
      seq,
      "it ends another size, or charges more than the hold",
    );
    this.#holds.delete(place);
  }

  /** Compares with the seal at its last step. */
  #addToMonth(step) {
    const month = this.#month;
    const { kind, cost } = step;
    if (kind === PLACE) this.#costs.holds += 1n;
    this.#costs[kind === CAPTURE ? "charged" : "lost"] += cost;
    const [seal] = this.#seals;
    if (seal === undefined) return;
    if (step.at <= seal.ends_at - 86_400_000n) month.daySeq = step.seq;
    const windows = LEVELS.flatMap((level) =>
      ["budget", "window", "used", "held"].map((name) => `${name}${level}`),
    );
    month.lines.push(textsOf(step, [...PUBLIC, ...windows]));
    month.records.push(textsOf(step, [...PRIVATE, "price_version", "claim", "detail"]));
    if (BigInt(month.lines.length) === BLOCK_STEPS) month.endBlock();
    if (step.seq === seal.last_seq) this.#checkSeal(this.#seals.shift());
  }

  #checkSeal(seal) {
    const month = this.#month;
    const { seq, at, credited, debited, held } = this.#before;
    month.endBlock();
    const [lines, records] = [month.lineHash.digest("hex"), month.recordHash.digest("hex")];
    const isSame = bytesOf(seal.lines_hash) === lines && bytesOf(seal.records_hash) === records;
    this.#expect(isSame, seq, "the steps of its month are not those of the seal");
    const { holds, charged, lost } = this.#costs;
    const counts = [holds, charged, lost, month.daySeq ?? this.#sealed.lastSeq].map(String);
    const operator = sha256(JSON.stringify([records, ...counts]));
    const facts = [at, credited, debited, held].map(String);
    const range = [this.#sealed.lastSeq + 1n, seq].map(String);
    const head = ["seal 1", this.accountId, String(seal.ends_at), this.#sealed.hash];
    const hash = sha256(JSON.stringify([...head, ...range, ...facts, seal.content, lines, operator]));
    this.#expect(bytesOf(seal.hash) === hash, seq, "its seal has another hash than the chain");
    this.#checkContent(seq, JSON.parse(seal.content));
    this.#sealed = { lastSeq: seq, hash };
    this.#month = newMonth();
  }

  #checkContent(seq, { budgets, holds }) {
    const open = [...this.#holds].map(([place, { id, size }]) => `${place} ${id} ${size}`).sort();
    const sealed = holds.map(({ seq: place, id, credits }) => `${place} ${id} ${credits}`).sort();
    this.#expect(open.join() === sealed.join(), seq, "its seal has other open holds than the chain");
    for (const { budget, totals } of budgets) {
      for (const [window, used, held] of totals) {
        const found = this.#windows.get(`${budget} ${window}`) ?? [];
        this.#expect(
          found.join() === `${used},${held}`,
          seq,
          `its seal has other totals of budget ${budget}`,
        );
      }
    }
  }

  end() {
    const { seq, held } = this.#before;
    const open = [...this.#holds.values()].reduce((sum, { size }) => sum + size, 0n);
    this.#expect(open === held, seq, "the open holds are not the total");
    this.#expect(this.#seals.length === 0, seq, "a seal has later steps than the chain");
  }
}

/** @returns {{ lines: string[], records: string[], [name: string]: any }} */
function newMonth() {
  const month = { lines: [], records: [], daySeq: undefined, endBlock };
  const [lineHash, recordHash] = [createHash("sha256"), createHash("sha256")];
  function endBlock() {
    if (month.lines.length > 0) lineHash.update(sha256(month.lines.join("\n")), "hex");
    if (month.records.length > 0) recordHash.update(sha256(month.records.join("\n")), "hex");
    Object.assign(month, { lines: [], records: [] });
  }
  return Object.assign(month, { lineHash, recordHash });
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const bytesOf = (text) => text.replace(/^\\x/, "");

function textsOf(step, names) {
  const texts = names.map((name) => (step[name] === null ? null : bytesOfClaim(name, String(step[name]))));
  return JSON.stringify(texts);
}

function bytesOfClaim(name, text) {
  return name === "claim" ? bytesOf(text) : text;
}

/** Integers become bigint, so none loses a digit. */
function rowOf(line) {
  const reviver = (_name, value, { source }) => (typeof value === "number" ? BigInt(source) : value);
  const row = JSON.parse(line, reviver);
  for (const name of ["kind", "bucket"]) if (name in row) row[name] = Number(row[name]);
  return row;
}

function linesOf(file) {
  return createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
}

async function rowsOf(file) {
  const rows = [];
  for await (const line of linesOf(file)) rows.push(rowOf(line));
  return rows;
}

if (import.meta.filename === process.argv[1]) {
  const problems = await checkDump(process.argv[2], process.argv[3]);
  console.log(problems.length === 0 ? "The dump is sound." : problems.slice(0, 100).join("\n"));
  process.exitCode = problems.length === 0 ? 0 : 1;
}
