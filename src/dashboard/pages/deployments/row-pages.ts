/**
 * The list's rows: pages of 100 by cursor, one query each. Only visible pages stay subscribed; others keep their last
 * rows.
 * A page starts at the previous page's end. If that end moves, the page is read again.
 */
import type { Client } from 'urql'
import { graphql, type ResultOf, type VariablesOf } from '../../api/graphql.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { type DeploymentsChange, liveDeploymentFragment } from '../../components/live-deployments.ts'

export const deploymentsQuery = graphql(
  `
    query Deployments($after: String, $filter: DeploymentFilter, $orderBy: DeploymentOrder) {
      deployments(first: 50, after: $after, filter: $filter, orderBy: $orderBy) {
        nodes {
          ...LiveDeployment
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [liveDeploymentFragment],
)

export type Row = ResultOf<typeof deploymentsQuery>['deployments']['nodes'][number]
export type RowsQuery = Pick<VariablesOf<typeof deploymentsQuery>, 'filter' | 'orderBy'>

export interface Rows {
  rows: readonly Row[]
  /** more rows follow the last one */
  more: boolean
  /** no answer yet */
  waiting: boolean
  problem: Problem | null
}

interface Page {
  after: string | null
  rows: readonly Row[] | null
  end: string | null
  more: boolean
  leave: (() => void) | null
}

/** Filters whose result a deployment's status changes cannot affect. */
const STABLE_FILTERS = ['nameContains', 'source', 'listenerId', 'remoteReconciled']

/** Rows around the visible ones whose pages also stay subscribed. */
const AHEAD_ROWS = 30

export class Pages {
  readonly #client: Client
  readonly #asked: RowsQuery
  readonly #watchers = new Set<() => void>()
  #pages: Page[] = [newPage(null)]
  #seen = { first: 0, last: 0 }
  #problem: Problem | null = null
  #now: Rows = { rows: [], more: true, waiting: true, problem: null }
  #open = false
  #due: ReturnType<typeof setTimeout> | undefined

  constructor(client: Client, asked: RowsQuery) {
    this.#client = client
    this.#asked = asked
  }

  readonly current = (): Rows => this.#now

  /** Subscribes to the visible pages while a component watches. */
  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    this.#open = true
    this.#follow()
    return () => {
      this.#watchers.delete(watcher)
      if (this.#watchers.size > 0) return
      this.#open = false
      for (const page of this.#pages) unsubscribePage(page)
    }
  }

  /** Sets the visible rows, by index. */
  show(first: number, last: number): void {
    this.#seen = { first, last }
    this.#follow()
  }

  /**
   * Whether a change can alter the rows or their order. With stable filters and order, only created and deleted
   * deployments can.
   */
  concerns({ deploymentIds, deployments }: DeploymentsChange): boolean {
    if (deploymentIds.length === 0) return true
    const { filter, orderBy } = this.#asked
    const byName = orderBy?.field === 'NAME' && Object.keys(filter ?? {}).every((key) => STABLE_FILTERS.includes(key))
    if (!byName) return true
    const shown = new Set(this.#now.rows.map(({ id }) => id))
    const there = new Map(deployments.map(({ id, name }) => [id, name]))
    const last = this.#now.more ? this.#now.rows.at(-1)?.name : undefined
    const isInSight = (name: string) =>
      last === undefined || (orderBy.direction === 'ASC' ? name <= last : name >= last)
    return deploymentIds.some((id) => {
      const name = there.get(id)
      return shown.has(id) ? name === undefined : name !== undefined && isInSight(name)
    })
  }

  /** Reads the visible pages again. Old rows stay until the answer arrives. */
  async refresh(): Promise<void> {
    for (const page of this.#pages.filter((one) => one.leave !== null))
      await this.#client
        .query(deploymentsQuery, { ...this.#asked, after: page.after }, { requestPolicy: 'network-only' })
        .toPromise()
  }

  /** Starts one page at a time: two cached pages take longer than a frame. */
  #follow(): void {
    if (!this.#open) return
    let hasBegun = false
    const [from, to] = [this.#seen.first - AHEAD_ROWS, this.#seen.last + AHEAD_ROWS]
    let start = 0
    for (let i = 0; i < this.#pages.length; i++) {
      const page = this.#pages[i]!
      const end = start + (page.rows?.length ?? 1)
      if (start > to || end < from) unsubscribePage(page)
      else if (page.leave === null) {
        if (hasBegun) {
          this.#followSoon()
          return
        }
        hasBegun = true
        this.#begin(page)
      }
      if (page.rows && page.more && i === this.#pages.length - 1 && end <= to) this.#pages.push(newPage(page.end))
      start = end
    }
  }

  #followSoon(): void {
    this.#due ??= setTimeout(() => {
      this.#due = undefined
      this.#follow()
    })
  }

  #begin(page: Page): void {
    const { after } = page
    let isOver = false
    page.leave = () => {
      isOver = true
    }
    const { unsubscribe } = this.#client
      .query(
        deploymentsQuery,
        { ...this.#asked, after },
        { requestPolicy: page.rows ? 'cache-first' : 'cache-and-network' },
      )
      .subscribe(({ data, error }) => {
        if (isOver || page.after !== after) return
        if (data) this.#answered(page, data.deployments)
        this.#problem = data || !error ? null : problemOf(error)
        this.#tell()
      })
    if (isOver) unsubscribe()
    else page.leave = unsubscribe
  }

  #answered(page: Page, { nodes, pageInfo }: ResultOf<typeof deploymentsQuery>['deployments']): void {
    page.rows = nodes
    page.more = pageInfo.hasNextPage
    page.end = pageInfo.endCursor
    const at = this.#pages.indexOf(page)
    const next = this.#pages[at + 1]
    if (!page.more) for (const gone of this.#pages.splice(at + 1)) unsubscribePage(gone)
    else if (next && next.after !== page.end) {
      unsubscribePage(next)
      next.after = page.end
      this.#follow()
    }
  }

  #tell(): void {
    const seen = new Set<string>()
    const rows: Row[] = []
    for (const page of this.#pages)
      for (const row of page.rows ?? [])
        if (!seen.has(row.id)) {
          seen.add(row.id)
          rows.push(row)
        }
    const more = this.#pages.at(-1)!.rows === null || this.#pages.at(-1)!.more
    this.#now = { rows, more, waiting: this.#pages[0]!.rows === null, problem: this.#problem }
    for (const watcher of this.#watchers) watcher()
    this.#followSoon()
  }
}

const newPage = (after: string | null): Page => ({ after, rows: null, end: null, more: true, leave: null })

function unsubscribePage(page: Page): void {
  page.leave?.()
  page.leave = null
}
