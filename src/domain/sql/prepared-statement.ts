/** Statements past Prisma: hot reads, and what transactions write. */

/** A statement that is planned once on each connection, under a name that no other text has. Its values are `$1`, `$2` … */
export interface Statement {
  name: string
  text: string
}

/** Runs one; rows as `pg` reads them. Through databaseFailure() its errors mean the same as Prisma's. */
export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>
