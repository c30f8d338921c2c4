/** LIKE patterns in Postgres: Prisma's `contains` leaves the wildcards of what it is given as they are. */

/** Escapes LIKE's wildcards, so that `text` is found literally. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
