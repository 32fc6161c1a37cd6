// Describes faults in files that people write, in a sentence for the operator. Each fault has its file, row, field and
// rule; of many faults the first few are shown.
import { OperatorError, sentenceOf } from "@gr/runtime";
import { core, z } from "zod";

const MOST_PROBLEMS_SHOWN = 5;

/** @param what "The catalogue seed" @throws OperatorError if there is any fault */
export function refuseProblems(what: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  const more = problems.length - MOST_PROBLEMS_SHOWN;
  const shown = problems.slice(0, MOST_PROBLEMS_SHOWN).join("; ");
  throw new OperatorError(`${what} is not usable: ${shown}${more > 0 ? `; and ${more} more` : ""}.`);
}

/** Returns a file's content by its schema, or the faults. */
export function parseFile<Schema extends z.ZodType>(
  schema: Schema,
  { name, content }: { name: string; content: string },
): { data: z.infer<Schema> } | { problems: string[] } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    return { problems: [`${name}: ${sentenceOf(error)}`] };
  }
  const file = schema.safeParse(parsed);
  return file.success ? { data: file.data } : { problems: problemsOf(file.error, name) };
}

/** Name by its id, else by its position in the file. */
export function nameOfRow(row: unknown, index: number): string {
  const { data } = z.looseObject({ id: z.string() }).safeParse(row);
  return data?.id ?? `models[${index}]`;
}

/** @param at "openai.json: openai/gpt-image-2" */
export function problemsOf(error: z.ZodError, at: string): string[] {
  return error.issues.map(({ path, message }) =>
    [at, core.toDotPath(path), message].filter(Boolean).join(": "),
  );
}
