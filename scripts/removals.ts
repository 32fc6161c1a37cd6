// Finds the parts that a migration removes from processes of the version before. It reports too much rather than too
// little.

const COMMENT = /--[^\n]*|\/\*[\s\S]*?\*\//g;
const TAKING: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["drops", /\bDROP\s+(TABLE|COLUMN|VIEW|TYPE|SCHEMA|SEQUENCE|FUNCTION|ROUTINE)\b/i],
  [
    "drops a column",
    /\bALTER\s+TABLE\b[^;]*\bDROP\s+(?!CONSTRAINT|DEFAULT|NOT\s+NULL|EXPRESSION|IDENTITY)\w/i,
  ],
  ["renames", /\bRENAME\b/i],
  ["moves", /\bSET\s+SCHEMA\b/i],
  ["changes a type", /\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b/i],
  ["refuses null", /\bSET\s+NOT\s+NULL\b/i],
  [
    "wants a value",
    /\bADD\s+(COLUMN\s+)?(IF\s+NOT\s+EXISTS\s+)?\w+(?![^,;]*\bDEFAULT\b)[^,;]*\bNOT\s+NULL\b/i,
  ],
  ["refuses values", /\bADD\s+(CONSTRAINT\s+\w+\s+)?(CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b/i],
  ["takes rows", /\b(DELETE\s+FROM|TRUNCATE)\b/i],
];

const UNIQUE_INDEX = /\bCREATE UNIQUE INDEX (\w+) ON (\w+)/gi;
const NEW_TABLE = /\bCREATE TABLE (\w+)/gi;

/**
 * Returns one sentence for each removal; none if the migration only adds. A unique index on a table of the same migration is no
 * removal; other changes of such a table count.
 */
export function removals(sql: string): string[] {
  const bare = sql.replaceAll(COMMENT, " ").replaceAll(/\s+/g, " ");
  const isNew = new Set(Array.from(bare.matchAll(NEW_TABLE), ([, table]) => table));
  const unique = [...bare.matchAll(UNIQUE_INDEX)].filter(([, , table]) => !isNew.has(table));
  return [
    ...TAKING.flatMap(([what, pattern]) => {
      const found = pattern.exec(bare);
      return found === null ? [] : [`${what}: ${found[0]}`];
    }),
    ...unique.map(([found]) => `refuses values: ${found}`),
  ];
}
