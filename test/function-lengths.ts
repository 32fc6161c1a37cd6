// Lengths of all functions of a TypeScript source, from its syntax tree: for the tidy test. A function's length is
// its own lines: those of functions inside it count for them.
import { parseSync } from "@swc/core";

export interface FunctionLength {
  readonly name: string;
  readonly lines: number;
}

interface SyntaxNode {
  readonly type?: string;
  readonly span?: { readonly start: number; readonly end: number };
  readonly identifier?: { readonly value?: string } | null;
  readonly key?: { readonly value?: string };
}

const FUNCTIONS = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ClassMethod",
  "PrivateMethod",
  "Constructor",
]);

export function functionLengths(source: string): FunctionLength[] {
  const bytes = Buffer.from(source);
  const tree = parseSync(source, { syntax: "typescript", target: "es2024" });
  // Positions count from the start of this parser's process-wide source map. The tree's own start is the origin,
  // less the comments that precede its first token.
  const first = firstTokenOffset(source);
  const origin = tree.span.start - first;
  const found: FunctionLength[] = [];
  /** Visits a node; returns the lines of the functions below it. */
  const visit = (node: unknown): number => {
    if (Array.isArray(node)) return node.reduce((sum: number, child) => sum + visit(child), 0);
    if (typeof node !== "object" || node === null) return 0;
    const inner = Object.values(node).reduce((sum: number, child) => sum + visit(child), 0);
    const { type, span, identifier, key } = node as SyntaxNode;
    if (type === undefined || !FUNCTIONS.has(type) || span === undefined) return inner;
    const lines = bytes
      .subarray(span.start - origin, span.end - origin)
      .toString()
      .split("\n").length;
    found.push({ name: identifier?.value ?? key?.value ?? "(anonymous)", lines: lines - inner });
    return lines - 1;
  };
  visit(tree.body);
  return found;
}

/** Byte offset of the first token after the opening comments. */
function firstTokenOffset(source: string): number {
  const match = /^(?:#!.*\n)?(?:\s|\/\/.*(?:\n|$)|\/\*[\s\S]*?\*\/)*/.exec(source);
  return Buffer.byteLength(match?.[0] ?? "");
}
