/** Pages of rows. */
import type { Slice, Window } from '../../../domain/paging/paging.ts'
import type { Total } from '../../../domain/paging/total.ts'
import type { Raw } from '../../../domain/query-engine/rows.ts'
import { pageInfoOf } from '../builder/connection.ts'
import { NotHot, objectType, type Scope, type Selected } from './compilation.ts'
import { type Answering, constant, objectOf, valueWriter } from './value-writers.ts'

/** One page. */
interface Page {
  slice: Slice<Raw>
  window: Window
  cursorOf: (row: Raw) => string
  /** of all pages, where `asksTotal` was called */
  total?: Total | null
}
type Write = (page: Page, answer: Answering) => string

/** How a node is written, where it is selected like this. */
type NodeOf = (selected: Selected) => (row: Raw, answer: Answering) => string

/** The JSON of a connection. `asksTotal`: called where its total is selected; throws where that is not hot. */
export function connection(scope: Scope, selected: Selected, nodeOf: NodeOf, asksTotal: () => void): Write {
  const type = objectType(selected)
  return objectOf(
    scope.fields(type, selected.below).map((one): { key: string; write: Write } => {
      if (!one.field) return { key: one.key, write: constant(type.name) }
      switch (one.name) {
        case 'nodes': {
          const write = nodeOf(one)
          return { key: one.key, write: ({ slice }, answer) => list(slice.rows, (row) => write(row, answer)) }
        }
        case 'edges': {
          const write = edge(scope, one, nodeOf)
          return { key: one.key, write: (page, answer) => list(page.slice.rows, (row) => write(row, page, answer)) }
        }
        case 'pageInfo': {
          const write = valueWriter(scope, one.field.type, one.below)
          return {
            key: one.key,
            write: ({ slice, window, cursorOf }, answer) => write(pageInfoOf(slice, window, cursorOf), answer),
          }
        }
        case 'totalCount':
          asksTotal()
          return { key: one.key, write: ({ total }) => String(total!.count) }
        case 'totalCountIsEstimate':
          asksTotal()
          return { key: one.key, write: ({ total }) => String(total!.isEstimate) }
        default:
          throw new NotHot()
      }
    }),
  )
}

function edge(scope: Scope, selected: Selected, nodeOf: NodeOf): (row: Raw, page: Page, answer: Answering) => string {
  const type = objectType(selected)
  return objectOf(
    scope.fields(type, selected.below).map((one) => {
      if (!one.field) return { key: one.key, write: constant(type.name) }
      if (one.name === 'cursor')
        return { key: one.key, write: (row: Raw, { cursorOf }: Page) => JSON.stringify(cursorOf(row)) }
      if (one.name !== 'node') throw new NotHot()
      const write = nodeOf(one)
      return { key: one.key, write: (row: Raw, _page: Page, answer: Answering) => write(row, answer) }
    }),
  )
}

function list(rows: readonly Raw[], write: (row: Raw) => string): string {
  let json = '['
  for (let i = 0; i < rows.length; i++) json += (i === 0 ? '' : ',') + write(rows[i]!)
  return `${json}]`
}
