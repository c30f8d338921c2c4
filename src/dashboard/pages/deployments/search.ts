/** The list's query string, so links can be shared and back navigation works. */
import type { VariablesOf } from '../../api/graphql.ts'
import type { deploymentsQuery } from './row-pages.ts'

const STATES = ['serving', 'down', 'failing', 'busy', 'waiting'] as const
type State = (typeof STATES)[number]
const SORTS = ['attention', 'name', '-name', '-changed', 'changed', '-created', 'created'] as const
export type Sort = (typeof SORTS)[number]
const SOURCES = ['gitprovider', 'internal_source', 'internal_container', 'external_container'] as const

/** Absent: all deployments, in the user's last order. */
export interface Search {
  q?: string | undefined
  state?: State | undefined
  source?: (typeof SOURCES)[number] | undefined
  /** a listener's id; `none`: deployments that the server runs itself */
  listener?: string | undefined
  /** a tag's id */
  tag?: string | undefined
  sort?: Sort | undefined
}

const oneOf = <T extends string>(words: readonly T[], value: unknown): T | undefined =>
  words.find((word) => word === value)
const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 200) || undefined : undefined
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Ignores invalid parameters. */
export function deploymentsSearch(raw: Record<string, unknown>): Search {
  const id = (value: unknown) => (typeof value === 'string' && ID.test(value) ? value : undefined)
  const found = {
    q: text(raw.q),
    state: oneOf(STATES, raw.state),
    source: oneOf(SOURCES, raw.source),
    listener: raw.listener === 'none' ? 'none' : id(raw.listener),
    tag: id(raw.tag),
    sort: oneOf(SORTS, raw.sort),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

type Variables = VariablesOf<typeof deploymentsQuery>
export type Filter = NonNullable<Variables['filter']>

const STATE_FILTERS: Record<State, Filter> = {
  serving: { serving: true },
  down: { serving: false },
  failing: { latestRevisionStatus: ['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED'] },
  busy: { latestRevisionStatus: ['CREATING', 'BUILDING', 'DEPLOYING'], latestRevisionWaits: false },
  waiting: { latestRevisionWaits: true },
}

export function filterOf({ q, state, source, listener, tag }: Search): Filter {
  return {
    ...(q !== undefined && { nameContains: q }),
    ...(state && STATE_FILTERS[state]),
    ...(source && { source }),
    ...(listener === 'none' && { remoteReconciled: false }),
    ...(listener !== undefined && listener !== 'none' && { listenerId: listener }),
    ...(tag !== undefined && { tagValueIds: [tag] }),
  }
}

const FIELDS = { name: 'NAME', changed: 'UPDATED_AT', created: 'CREATED_AT' } as const

export function orderOf(sort: Sort): NonNullable<Variables['orderBy']> {
  if (sort === 'attention') return { field: 'ATTENTION', direction: 'DESC' }
  const field = sort.replace('-', '') as keyof typeof FIELDS
  return { field: FIELDS[field], direction: sort.startsWith('-') ? 'DESC' : 'ASC' }
}

/** The list's view settings, stored in this browser. */
export interface View {
  sort: Sort
  dense: boolean
}

/** Reads stored settings. Invalid ones are ignored. */
export function viewOf(kept: string | undefined): View {
  let raw: Partial<Record<keyof View, unknown>> = {}
  try {
    raw = JSON.parse(kept ?? '{}') ?? {}
  } catch {
    // not our format
  }
  return { sort: oneOf(SORTS, raw.sort) ?? 'attention', dense: raw.dense === true }
}

/** Whether any filter is set. */
export const isFiltered = ({ sort: _, ...filters }: Search): boolean =>
  Object.values(filters).some((value) => value !== undefined)
