/** Prepared statements past Prisma, for frequent reads and for the writes of transactions. */

/** A statement that is planned once per connection. Its name is unique to its text. Its values are `$1`, `$2` … */
export interface Statement {
  name: string
  text: string
}

/** Runs a statement and returns rows as `pg` reads them. databaseFailure() treats its errors like Prisma's. */
export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>
