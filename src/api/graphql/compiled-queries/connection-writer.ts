/** Writers for connections: pages of rows. */
import type { Slice, Window } from '../../../domain/paging/paging.ts'
import type { Total } from '../../../domain/paging/total.ts'
import type { Raw } from '../../../domain/query-engine/rows.ts'
import { pageInfoOf } from '../builder/connection.ts'
import { type Compilation, NotCompilable, objectType, type SelectedField } from './compilation.ts'
import { constantWriter, type Execution, objectWriter, valueWriter } from './value-writers.ts'

interface Page {
  slice: Slice<Raw>
  window: Window
  cursorOf: (row: Raw) => string
  /** present if `onTotalSelected` was called */
  total?: Total | null
}
type Write = (page: Page, execution: Execution) => string

/** Returns the writer of a node for its selection. */
type NodeWriter = (selected: SelectedField) => (row: Raw, execution: Execution) => string

/**
 * Writer of a connection. `onTotalSelected` is called if the total is selected; it throws if the total can't be compiled.
 */
export function connectionWriter(
  compilation: Compilation,
  selected: SelectedField,
  nodeOf: NodeWriter,
  onTotalSelected: () => void,
): Write {
  const type = objectType(selected)
  return objectWriter(
    compilation.selectedFields(type, selected.below).map((one): { key: string; write: Write } => {
      if (!one.field) return { key: one.key, write: constantWriter(type.name) }
      switch (one.name) {
        case 'nodes': {
          const write = nodeOf(one)
          return {
            key: one.key,
            write: ({ slice }, execution) => writeList(slice.rows, (row) => write(row, execution)),
          }
        }
        case 'edges': {
          const write = edgeWriter(compilation, one, nodeOf)
          return {
            key: one.key,
            write: (page, execution) => writeList(page.slice.rows, (row) => write(row, page, execution)),
          }
        }
        case 'pageInfo': {
          const write = valueWriter(compilation, one.field.type, one.below)
          return {
            key: one.key,
            write: ({ slice, window, cursorOf }, execution) => write(pageInfoOf(slice, window, cursorOf), execution),
          }
        }
        case 'totalCount':
          onTotalSelected()
          return { key: one.key, write: ({ total }) => String(total!.count) }
        case 'totalCountIsEstimate':
          onTotalSelected()
          return { key: one.key, write: ({ total }) => String(total!.isEstimate) }
        default:
          throw new NotCompilable()
      }
    }),
  )
}

function edgeWriter(
  compilation: Compilation,
  selected: SelectedField,
  nodeOf: NodeWriter,
): (row: Raw, page: Page, execution: Execution) => string {
  const type = objectType(selected)
  return objectWriter(
    compilation.selectedFields(type, selected.below).map((one) => {
      if (!one.field) return { key: one.key, write: constantWriter(type.name) }
      if (one.name === 'cursor')
        return { key: one.key, write: (row: Raw, { cursorOf }: Page) => JSON.stringify(cursorOf(row)) }
      if (one.name !== 'node') throw new NotCompilable()
      const write = nodeOf(one)
      return { key: one.key, write: (row: Raw, _page: Page, execution: Execution) => write(row, execution) }
    }),
  )
}

function writeList(rows: readonly Raw[], write: (row: Raw) => string): string {
  let json = '['
  for (let i = 0; i < rows.length; i++) json += (i === 0 ? '' : ',') + write(rows[i]!)
  return `${json}]`
}
