/** What is in the address of a comparison beside its path: the two revisions. Absent: what serves, or the one before, and the latest; `from=before`: the one before `to`. */
export interface CompareSearch {
  from?: string
  to?: string
}

const id = (value: unknown) => (typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value) ? value : undefined)

export const compareSearch = ({ from, to }: Record<string, unknown>): CompareSearch => ({
  from: from === 'before' ? from : id(from),
  to: id(to),
})
