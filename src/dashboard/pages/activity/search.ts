/** The activity page's query string. Pure. */

/** Families of event types. */
export const ABOUT = {
  deployment: { label: 'Deployments', types: ['deployment.*', 'secret.*', 'tracing_project.*'] },
  revision: { label: 'Revisions', types: ['revision.*'] },
  listener: { label: 'Listeners', types: ['listener.*'] },
  access: { label: 'Keys and sessions', types: ['api_key.*', 'session.*'] },
  integration: { label: 'Git integrations', types: ['integration.*'] },
  oauth: { label: 'OAuth', types: ['oauth_provider.*', 'oauth_token.*', 'connection.*'] },
} as const
export type About = keyof typeof ABOUT

/** Kinds of actors that make decisions. The other kinds carry them out. */
export const DECIDING_ACTOR_KINDS = ['api_key', 'person', 'command_line', 'git_provider'] as const

/** The start of each range, in the user's time zone. */
export const SINCE = {
  hour: (now: Date) => new Date(now.getTime() - 3_600_000),
  today: (now: Date) => dayBefore(now, 0),
  yesterday: (now: Date) => dayBefore(now, 1),
  week: (now: Date) => dayBefore(now, 7),
} as const
export type Since = keyof typeof SINCE

/** A day is not 24 hours when clocks change. */
const dayBefore = (now: Date, days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days)

export interface ActivitySearch {
  /** true: also system events and sign-ins; absent: decisions only */
  all?: true
  /** a family or one event type */
  about?: About | `${string}.${string}`
  since?: Since
  /** an actor's subject */
  who?: string
  /** a deployment's id */
  deployment?: string
}

const oneOf = <T extends string>(all: Record<T, unknown>, value: unknown): T | undefined =>
  typeof value === 'string' && Object.hasOwn(all, value) ? (value as T) : undefined
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** An event type, such as `deployment.deleted`. */
const typeOf = (value: unknown) =>
  typeof value === 'string' && /^[a-z_]+\.[a-z_]+$/.test(value) ? (value as `${string}.${string}`) : undefined

export const isFamily = (about: string): about is About => Object.hasOwn(ABOUT, about)

/** Ignores invalid parameters. */
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
