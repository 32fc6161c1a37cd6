// Checks a statement of a sealed month offline: the chain of its steps, totals, hash, and the signature of the operator.
// node check-statement.mjs statement.jsonl [--key <public key>] [--previous <statement of the sealed month before>]
import { createHash, createPublicKey, verify } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const BLOCK_STEPS = 1_000;
const [CAPTURE, CARRY] = ["5", "16"];
/** Kinds of steps that change the credit: deposit, refund, adjustment, carry. */
const CREDITING = ["11", "12", "13", CARRY];
const TOTALS = ["credited", "debited", "held"];

/** @param {{ key?: string, previous?: string }} options @throws Error with one sentence if the statement is not sound */
export async function checkStatement(file, options = {}) {
  const { key, previous } = options;
  let before;
  for await (const line of previous === undefined ? [] : linesOf(previous)) before ??= headOf(line);
  let head;
  let month;
  for await (const line of linesOf(file)) {
    if (month === undefined) {
      head = headOf(line);
      month = new Month(head, before);
    } else {
      month.add(line);
    }
  }
  if (head === undefined) throw new Error("The statement is empty.");
  month.end();
  checkSignature(head, key);
  const trust = head.signing === null ? "unsigned" : key === undefined ? "unknown key" : "signed";
  const steps = Number(head.lastSeq - head.firstSeq) + 1;
  return { accountId: head.accountId, hash: head.hash, trust, steps, ...month.sums() };
}

/** The steps of one month, added one after the other. Totals before its first step are unknown without the statement before. */
class Month {
  #head;
  #totals;
  #windows = new Map();
  #blocks = createHash("sha256");
  #block = [];
  #seq;
  #at = 0n;
  #sums = { credited: 0n, charged: 0n };

  constructor(head, before) {
    this.#head = head;
    this.#seq = head.firstSeq - 1n;
    if (head.firstSeq === 1n) this.#totals = { credited: 0n, debited: 0n, held: 0n };
    if (before === undefined) return;
    if (before.hash !== head.previousHash || before.lastSeq !== this.#seq) {
      throw new Error(
        "The other statement is not that of the sealed month before: its hash is not in this seal.",
      );
    }
    this.#totals = before;
    this.#windows = windowsOf(before);
  }

  add(line) {
    const row = parse(line);
    if (!Array.isArray(row) || row.length !== 27) throw new Error("A line of the statement is not a step.");
    const [seq, at, kind, , , , , ...after] = row;
    const [credits, charge] = [BigInt(row[4]), BigInt(row[5])];
    this.#seq += 1n;
    if (BigInt(seq) !== this.#seq) throw new Error(`Step ${this.#seq} is missing: step ${seq} follows.`);
    if (BigInt(at) < this.#at) throw new Error(`Step ${seq} is earlier than the step before.`);
    this.#at = BigInt(at);
    const mayCharge = (kind === CAPTURE && charge <= -credits) || kind === CARRY;
    if (charge < 0n || (charge > 0n && !mayCharge)) throw new Error(`Step ${seq} charges more than a hold.`);
    const [credit, change] = CREDITING.includes(kind) ? [credits, 0n] : [0n, credits];
    const changes = [credit, charge, change];
    this.#addTotals(seq, changes, after);
    for (let level = 11; level < 27; level += 4)
      this.#addWindow(seq, row.slice(level, level + 4), charge, change);
    this.#sums.credited += credit;
    this.#sums.charged += charge;
    this.#block.push(line);
    if (this.#block.length === BLOCK_STEPS) this.#endBlock();
  }

  #addTotals(seq, changes, after) {
    const totals = Object.fromEntries(TOTALS.map((name, index) => [name, BigInt(after[index])]));
    for (const [index, name] of TOTALS.entries()) {
      if (this.#totals !== undefined && totals[name] !== this.#totals[name] + changes[index]) {
        throw new Error(`Step ${seq} has another total (${name}) than the steps up to it.`);
      }
    }
    this.#totals = totals;
  }

  #addWindow(seq, totals, charge, change) {
    const [budget, window, used, held] = totals;
    const before = this.#windows.get(`${budget} ${window}`);
    if (budget === null) return;
    const after = { used: BigInt(used), held: BigInt(held) };
    const wanted = before && { used: before.used + charge, held: before.held + change };
    if (wanted !== undefined && (after.used !== wanted.used || after.held !== wanted.held)) {
      throw new Error(`Step ${seq} has another total of budget ${budget} than the steps up to it.`);
    }
    this.#windows.set(`${budget} ${window}`, after);
  }

  #endBlock() {
    this.#blocks.update(createHash("sha256").update(this.#block.join("\n")).digest());
    this.#block = [];
  }

  end() {
    const { lastSeq, lastAt, linesHash } = this.#head;
    if (this.#seq !== lastSeq)
      throw new Error(`The statement lacks steps: its seal ends with step ${lastSeq}.`);
    if (this.#block.length > 0) this.#endBlock();
    if (this.#blocks.digest("hex") !== linesHash)
      throw new Error("The steps were changed: their hash is another.");
    let isSame = TOTALS.every((name) => this.#head[name] === this.#totals[name]) && lastAt === this.#at;
    for (const [name, { used, held }] of windowsOf(this.#head)) {
      const found = this.#windows.get(name) ?? { used, held };
      isSame &&= found.used === used && found.held === held;
    }
    if (!isSame) throw new Error("The totals of the seal are not those of its last step.");
  }

  sums() {
    const { credited, debited, held } = this.#head;
    const sums = { ...this.#sums, balance: credited - debited, reserved: held };
    return Object.fromEntries(Object.entries(sums).map(([name, credits]) => [name, usd(credits)]));
  }
}

function headOf(line) {
  const { seal, hash, signing } = parse(line);
  if (!Array.isArray(seal) || seal.length !== 13 || seal[0] !== "seal 1") {
    throw new Error("The file is not a statement with a seal of version 1.");
  }
  if (createHash("sha256").update(JSON.stringify(seal)).digest("hex") !== hash) {
    throw new Error("The seal was changed: it does not have the hash that the statement names.");
  }
  const [firstSeq, lastSeq, lastAt, credited, debited, held] = seal.slice(4, 10).map(BigInt);
  const facts = { accountId: seal[1], previousHash: seal[3], content: seal[10], linesHash: seal[11] };
  return { ...facts, firstSeq, lastSeq, lastAt, credited, debited, held, hash, signing };
}

function windowsOf({ content }) {
  const rows = JSON.parse(content).budgets.flatMap(({ budget, totals }) =>
    totals.map((each) => [budget, ...each]),
  );
  const totalsOf = ([, , used, held]) => ({ used: BigInt(used), held: BigInt(held) });
  return new Map(rows.map((row) => [`${row[0]} ${row[1]}`, totalsOf(row)]));
}

function checkSignature({ hash, signing }, key) {
  if (signing === null && key === undefined) return;
  if (signing === null) throw new Error("The statement is not signed.");
  const der = Buffer.from(key ?? signing.public_key, "base64");
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  const signature = Buffer.from(signing.signature, "base64");
  const isOwn = verify(null, Buffer.from(`statement ${hash}`), publicKey, signature);
  if (!isOwn) throw new Error("The signature is not that of the operator.");
}

function linesOf(file) {
  return createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error("The file is not a statement: a line is not JSON.");
  }
}

function usd(credits) {
  const size = credits < 0n ? -credits : credits;
  return `${credits < 0n ? "-" : ""}${size / 10_000n}.${String(size % 10_000n).padStart(4, "0")}`;
}

if (import.meta.filename === process.argv[1]) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { key: { type: "string" }, previous: { type: "string" } },
  });
  try {
    const { accountId, steps, credited, charged, balance, reserved, trust } = await checkStatement(
      positionals[0],
      values,
    );
    const sums = `credited ${credited}, charged ${charged}, balance ${balance}, reserved ${reserved} USD`;
    console.log(`The statement of account ${accountId} is sound (${trust}): ${steps} steps, ${sums}.`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
