/** The list of deployments: its address, and when its rows are read again. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Pages, type RowsQuery } from '../../src/dashboard/pages/deployments/row-pages.ts'
import {
  deploymentsSearch,
  filterOf,
  isFiltered,
  orderOf,
  viewOf,
} from '../../src/dashboard/pages/deployments/search.ts'

const ID = '01a20625-779a-71fd-a26f-1ea56746f862'

test('a hand-written address is read as far as possible', () => {
  expect(deploymentsSearch({ q: 12, state: 'failing', source: 'git', listener: 'none', tag: ID, sort: 'up' })).toEqual({
    q: '12',
    state: 'failing',
    listener: 'none',
    tag: ID,
  })
  expect(deploymentsSearch({ tag: "' OR 1=1", listener: 'x', q: '', state: ['serving'] })).toEqual({})
})

test('the server filters by all choices together', () => {
  expect(filterOf({ q: 'agent', state: 'down', listener: 'none', tag: ID, sort: '-changed' })).toEqual({
    nameContains: 'agent',
    serving: false,
    remoteReconciled: false,
    tagValueIds: [ID],
  })
  expect(orderOf('-changed')).toEqual({ field: 'UPDATED_AT', direction: 'DESC' })
  expect(orderOf('name')).toEqual({ field: 'NAME', direction: 'ASC' })
  expect([isFiltered({ sort: 'name' }), isFiltered({ q: 'a' })]).toEqual([false, true])
})

test('the list begins with rows that need attention, in two lines each, until the reader chooses otherwise', () => {
  expect(orderOf(viewOf(undefined).sort)).toEqual({ field: 'ATTENTION', direction: 'DESC' })
  expect(viewOf('{"sort":"-changed","dense":true}')).toEqual({ sort: '-changed', dense: true })
  for (const kept of ['', 'null', '{"sort":"up","dense":"yes"}'])
    expect(viewOf(kept)).toEqual({ sort: 'attention', dense: false })
})

// the next page starts in a separate task
beforeAll(() => void vi.useFakeTimers())
afterAll(() => void vi.useRealTimers())

/** A server with these names, in pages of two. */
function list(names: string[], asked: RowsQuery = { filter: {}, orderBy: { field: 'NAME', direction: 'ASC' } }) {
  const queries: (string | null)[] = []
  const answer = (after: string | null) => {
    const from = after === null ? 0 : names.findIndex((name) => name > after)
    const nodes = (from < 0 ? [] : names.slice(from, from + 2)).map((name) => ({ id: name, name }))
    const endCursor = nodes.at(-1)?.name ?? null
    return { data: { deployments: { nodes, pageInfo: { hasNextPage: endCursor !== names.at(-1), endCursor } } } }
  }
  const followed = new Map<string | null, (result: ReturnType<typeof answer>) => void>()
  const client = {
    query(_document: unknown, { after }: { after: string | null }) {
      return {
        subscribe(on: (result: ReturnType<typeof answer>) => void) {
          queries.push(after)
          followed.set(after, on)
          on(answer(after))
          return { unsubscribe: () => void followed.delete(after) }
        },
        async toPromise() {
          followed.get(after)?.(answer(after))
        },
      }
    },
  }
  const pages = new Pages(client as never, asked)
  return { pages, queries, followed, shown: () => pages.current().rows.map(({ name }) => name) }
}

const change = (deploymentIds: string[], there: string[] = deploymentIds) =>
  ({ cursor: '', deploymentIds, deployments: there.map((name) => ({ id: name, name })) }) as never

test('pages follow each other by cursor, and a page that moves moves the next', async () => {
  const names = ['a', 'c', 'e', 'g', 'i']
  const { pages, queries, shown } = list(names)
  const leave = pages.watch(() => undefined)
  vi.runAllTimers()
  expect(shown()).toEqual(names)
  expect(queries).toEqual([null, 'c', 'g'])
  expect(pages.current()).toMatchObject({ more: false, waiting: false, problem: null })
  names.splice(1, 0, 'b')
  await pages.refresh()
  vi.runAllTimers()
  expect(shown()).toEqual(['a', 'b', 'c', 'e', 'g', 'i'])
  names.splice(0, 3)
  await pages.refresh()
  vi.runAllTimers()
  expect(shown()).toEqual(['e', 'g', 'i'])
  leave()
})

test('pages out of sight are not read, and keep their content', () => {
  const names = Array.from({ length: 200 }, (_, i) => `n${String(i).padStart(3, '0')}`)
  const { pages, followed, shown } = list(names)
  const leave = pages.watch(() => undefined)
  vi.runAllTimers()
  const first = shown().length
  expect(first).toBeGreaterThan(20)
  expect(first).toBeLessThan(60)
  for (let row = 0; row < 200; row += 20) {
    pages.show(row, row + 10)
    vi.runAllTimers()
  }
  expect(shown()).toEqual(names)
  expect(followed.size).toBeLessThan(60)
  leave()
  vi.runAllTimers()
  expect(followed.size).toBe(0)
  expect(shown()).toEqual(names)
})

test('rows are read again when a deployment appears or goes, and by the fields of a filter or the order', () => {
  const { pages } = list(['a', 'c', 'e'])
  const leave = pages.watch(() => undefined)
  expect(pages.concerns(change(['a', 'c']))).toBe(false)
  expect(pages.concerns(change(['b']))).toBe(true)
  expect(pages.concerns(change(['c'], []))).toBe(true)
  expect(pages.concerns(change([]))).toBe(true)
  leave()
  const failing = list(['a'], { filter: { serving: false }, orderBy: { field: 'NAME', direction: 'ASC' } })
  expect(failing.pages.concerns(change(['a']))).toBe(true)
  const newest = list(['a'], { filter: {}, orderBy: { field: 'UPDATED_AT', direction: 'DESC' } })
  expect(newest.pages.concerns(change(['a']))).toBe(true)
})
