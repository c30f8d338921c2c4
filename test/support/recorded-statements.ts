/**
 * Records all statements that this process sends to Postgres, with their values, and how Postgres would execute them.
 */
import pg from 'pg'

export interface Recorded {
  text: string
  values: unknown[]
}

/** Records each text once, with its first values. Transaction control is left out. */
export function recordStatements(): { recorded: Map<string, Recorded>; stop(): void } {
  const recorded = new Map<string, Recorded>()
  const { prototype } = pg.Client
  const { query } = prototype
  // biome-ignore lint/suspicious/noExplicitAny: pg declares many overloads
  prototype.query = function (this: pg.Client, ...args: any[]): any {
    const [statement, second] = args as [string | { text?: string; values?: unknown[] }, unknown]
    const text = typeof statement === 'string' ? statement : statement?.text
    const own = typeof statement === 'string' ? undefined : statement?.values
    const values = own ?? (Array.isArray(second) ? second : [])
    if (text !== undefined && /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i.test(text) && !recorded.has(text))
      recorded.set(text, { text, values })
    return Reflect.apply(query, this, args)
  }
  return {
    recorded,
    stop: () => {
      prototype.query = query
    },
  }
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  Plans?: Plan[]
}

/** The tables that Postgres would scan sequentially although sequential scans are disabled. */
export async function scannedWhole(client: pg.Client, { text, values }: Recorded): Promise<string[]> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    text: `EXPLAIN (FORMAT JSON) ${text}`,
    values,
  })
  const tables: string[] = []
  const visit = ({ 'Node Type': node, 'Relation Name': table, Plans = [] }: Plan) => {
    if (node === 'Seq Scan' && table) tables.push(table)
    Plans.forEach(visit)
  }
  visit(rows[0]!['QUERY PLAN'][0].Plan)
  return tables
}
