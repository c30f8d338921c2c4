/** What of the activity is shown, as it stands in the address. Pure. */

/** What the events are about: families of types, by the word before the dot. */
export const ABOUT = {
  deployment: { label: 'Deployments', types: ['deployment.*', 'secret.*', 'tracing_project.*'] },
  revision: { label: 'Revisions', types: ['revision.*'] },
  listener: { label: 'Listeners', types: ['listener.*'] },
  access: { label: 'Keys and sessions', types: ['api_key.*', 'session.*'] },
  integration: { label: 'Git integrations', types: ['integration.*'] },
  oauth: { label: 'OAuth', types: ['oauth_provider.*', 'oauth_token.*', 'connection.*'] },
} as const
export type About = keyof typeof ABOUT

/** Back from now, in hours. */
export const SINCE = { hour: 1, day: 24, week: 7 * 24 } as const
export type Since = keyof typeof SINCE

export interface ActivitySearch {
  /** also what the work did by itself; absent: what somebody decided */
  all?: true
  /** a family, or one type of event */
  about?: About | `${string}.${string}`
  since?: Since
  /** the subject of an actor */
  who?: string
  /** the id of a deployment */
  deployment?: string
}

const oneOf = <T extends string>(all: Record<T, unknown>, value: unknown): T | undefined =>
  typeof value === 'string' && Object.hasOwn(all, value) ? (value as T) : undefined
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** `deployment.deleted` */
const typeOf = (value: unknown) =>
  typeof value === 'string' && /^[a-z_]+\.[a-z_]+$/.test(value) ? (value as `${string}.${string}`) : undefined

export const isFamily = (about: string): about is About => Object.hasOwn(ABOUT, about)

/** What is no good is left out. */
export function activitySearch(raw: Record<string, unknown>): ActivitySearch {
  const found = {
    all: raw.all === true ? (true as const) : undefined,
    about: oneOf(ABOUT, raw.about) ?? typeOf(raw.about),
    since: oneOf(SINCE, raw.since),
    who: text(raw.who),
    deployment: text(raw.deployment),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}
