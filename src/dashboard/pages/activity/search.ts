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

/** Each answers when it began, in the reader's own day. */
export const SINCE = {
  hour: (now: Date) => new Date(now.getTime() - 3_600_000),
  today: (now: Date) => dayBefore(now, 0),
  yesterday: (now: Date) => dayBefore(now, 1),
  week: (now: Date) => dayBefore(now, 7),
} as const
export type Since = keyof typeof SINCE

/** Days are not 24 hours where clocks are put forward. */
const dayBefore = (now: Date, days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days)

export interface ActivitySearch {
  /** also what the work did by itself, and who came in; absent: what somebody changed */
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
