/** Who listens: clients of every transport, of the workspace and of single deployments, fast and slow ones, early and late. */
import type { Place } from './place.ts'
import { graphqlSse } from './subscribers/graphql-sse.ts'
import { Subscriber, type SubscriberOptions } from './subscribers/subscriber.ts'
import type { Wire } from './subscribers/wire.ts'
import type { Writers } from './writers.ts'

/** The kinds that follow the workspace and its deployments at full speed. */
const KINDS: readonly (readonly [kind: string, wire: Wire, status: boolean])[] = [
  ['SSE, revisionStatusChanged', graphqlSse(), true],
  ['SSE, revisionStatusChanged, other fields', graphqlSse('other'), true],
]

export interface Population {
  all: readonly Subscriber[]
  /** Those who begin late, at the beginning of the log. */
  late(): void
  close(): Promise<void>
}

/** `each`: how many of a kind follow the workspace; half as many follow single deployments. */
export function subscribe(place: Place, key: string, after: string, writers: Writers, each: number): Population {
  const all: Subscriber[] = []
  const join = (options: Omit<SubscriberOptions, 'first' | 'key'>) =>
    all.push(new Subscriber(place, { ...options, key, first: all.length }))
  const deployments = [writers.called[0]!, writers.moved[0]!]
  for (const [kind, wire, status] of KINDS) {
    const of = status ? { status: true as const } : {}
    for (let i = 0; i < each; i++) join({ kind, wire, scope: of, after })
    // the last one begins with the present
    for (const [i, deploymentId] of deployments.entries())
      join({
        kind: `${kind}, one deployment`,
        wire,
        scope: { ...of, deploymentId },
        after: status && i === 1 ? null : after,
      })
  }
  return {
    all,
    late() {
      for (const [kind, wire, status] of KINDS)
        join({ kind: `${kind}, late`, wire, scope: status ? { status: true } : {}, after })
    },
    async close() {
      await Promise.all(all.map((subscriber) => subscriber.close()))
    },
  }
}
