// The larger and the smaller of two amounts: Math.max and Math.min know no bigint.

export function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
