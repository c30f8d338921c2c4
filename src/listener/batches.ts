/**
 * What goes into one request: the control plane takes bodies of 1 MiB (contract 2).
 */

/** of JSON in UTF-8; leaves room for the rest of the body */
const MOST_BYTES = 960 * 1024
/** of the protocol (wire.ts) */
const MOST_ITEMS = 1000

/** Splits, in order, into lists that are small enough for one request each. An item that is too large alone is alone. */
export function batches<T>(items: readonly T[]): T[][] {
  const all: T[][] = []
  let room = 0
  for (const item of items) {
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1
    if (all.length === 0 || bytes > room || all.at(-1)!.length === MOST_ITEMS) {
      all.push([])
      room = MOST_BYTES
    }
    all.at(-1)!.push(item)
    room -= bytes
  }
  return all
}
