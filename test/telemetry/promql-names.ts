// Finds the names of series in a PromQL expression, and the label values that it selects exactly. It parses enough of
// the language for the expressions of our own alerts and dashboards.

export interface Selected {
  readonly name: string;
  /** Labels of the matchers with `=`. */
  readonly labels: Readonly<Record<string, string>>;
}

const WORDS = new Set(["and", "or", "unless", "on", "ignoring", "bool", "offset", "by", "without"]);
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g;
const RANGE = /\[[^\]]*\]/g;
const SELECTOR = /(?<![\w.:$])([a-zA-Z_:][a-zA-Z0-9_:]*)(?!\s*\(|[a-zA-Z0-9_:])(?:\s*\{([^}]*)\})?/g;

export function selectedBy(expression: string): Selected[] {
  const plain = expression.replace(GROUPING, " ").replace(RANGE, " ");
  return [...plain.matchAll(SELECTOR)]
    .filter(([, name = ""]) => !WORDS.has(name))
    .map(([, name = "", matchers = ""]) => ({
      name,
      labels: Object.fromEntries(
        [...matchers.matchAll(/(\w+)\s*=\s*"([^"]*)"/g)].map(([, label = "", value = ""]) => [label, value]),
      ),
    }));
}
