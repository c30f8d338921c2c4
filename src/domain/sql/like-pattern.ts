/** LIKE patterns of Postgres. Prisma's `contains` does not escape wildcards. */

/** Escapes LIKE's wildcards, so that `text` is found literally. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
