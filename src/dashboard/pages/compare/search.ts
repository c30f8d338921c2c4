/**
 * The query string: two revision ids. Default: the active (or previous) and the latest one. `from=before`: the one before
 * `to`.
 */
export interface CompareSearch {
  from?: string
  to?: string
}

const id = (value: unknown) => (typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value) ? value : undefined)

export const compareSearch = ({ from, to }: Record<string, unknown>): CompareSearch => ({
  from: from === 'before' ? from : id(from),
  to: id(to),
})
