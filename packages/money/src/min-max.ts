// larger and smaller compare two amounts, because Math.max and Math.min do not support bigint.

export function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
