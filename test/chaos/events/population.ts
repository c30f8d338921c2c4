/** Who listens: clients of every transport, of the workspace and of single deployments, fast and slow ones, early and late. */
import type { Place } from './place.ts'
import { graphqlSse } from './subscribers/graphql-sse.ts'
import { slowly } from './subscribers/slow.ts'
import { Subscriber, type SubscriberOptions } from './subscribers/subscriber.ts'
import type { Wire } from './subscribers/wire.ts'

/** The kinds that follow the workspace and its deployments at full speed. */
const KINDS: readonly (readonly [kind: string, wire: Wire, status: boolean])[] = [
  ['SSE, revisionStatusChanged', graphqlSse(), true],
  ['SSE, revisionStatusChanged, other fields', graphqlSse('other'), true],
]

export interface Population {
  all: readonly Subscriber[]
  /** those with the key that is going to be revoked */
  revoked: readonly Subscriber[]
  /** Those who begin late, at the beginning of the log. */
  late(): void
  close(): Promise<void>
}

export interface PopulationOptions {
  place: Place
  /** good to the end, and the one that is going to be revoked */
  keys: { good: string; revoked: string }
  /** cursor behind which they begin */
  after: string
  /** whose events some of them follow; there is one at least of each */
  deployments: readonly string[]
  /** how many of a kind follow the workspace */
  each: number
  /** events so far */
  written: () => number
  /** events that are written while a slow reader stands still */
  still: number
}

export function subscribe({ place, keys, after, deployments, each, written, still }: PopulationOptions): Population {
  const all: Subscriber[] = []
  function join(options: Omit<SubscriberOptions, 'first' | 'key'>, key = keys.good): Subscriber {
    const subscriber = new Subscriber(place, { ...options, key, first: all.length })
    all.push(subscriber)
    return subscriber
  }
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
  const revoked = KINDS.map(([, wire, status]) =>
    join({ kind: 'with a key that is revoked', wire, scope: status ? { status: true } : {}, after }, keys.revoked),
  )
  const slow = graphqlSse('long', slowly(written, still))
  for (let i = 0; i < 2; i++)
    join({ kind: 'slow readers (SSE)', wire: slow, scope: { status: true }, after, slow: true })
  return {
    all,
    revoked,
    late() {
      for (const [kind, wire, status] of KINDS)
        join({ kind: `${kind}, late`, wire, scope: status ? { status: true } : {}, after })
    },
    async close() {
      await Promise.all(all.map((subscriber) => subscriber.close()))
    },
  }
}
