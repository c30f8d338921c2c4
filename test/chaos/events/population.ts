/**
 * The subscribers: clients of every transport, of the workspace and of single deployments, fast and slow, early and
 * late.
 */
import type { Place } from './place.ts'
import { graphqlSse } from './subscribers/graphql-sse.ts'
import { restPages, restSse } from './subscribers/rest.ts'
import { slowly } from './subscribers/slow.ts'
import { Subscriber, type SubscriberOptions } from './subscribers/subscriber.ts'
import { webSocket } from './subscribers/websocket.ts'
import type { Wire } from './subscribers/wire.ts'

interface Kind {
  name: string
  wire: Wire
  /** Only status changes. */
  status?: true
  /** Polls instead of streaming. */
  asks?: true
  /** A client that begins with the present is not told its position. */
  silent?: true
}

/** Kinds that follow the workspace and its deployments at full speed. */
const KINDS: readonly Kind[] = [
  { name: 'SSE, revisionStatusChanged', wire: graphqlSse(), status: true },
  { name: 'SSE, revisionStatusChanged, other fields', wire: graphqlSse('other'), status: true },
  { name: 'SSE, events', wire: graphqlSse() },
  { name: 'WebSocket, revisionStatusChanged', wire: webSocket(), status: true },
  { name: 'WebSocket, events', wire: webSocket(), silent: true },
  { name: 'REST, text/event-stream', wire: restSse() },
  { name: 'REST, JSON pages', wire: restPages, asks: true },
]

export interface Population {
  all: readonly Subscriber[]
  /** Subscribers with the key that will be revoked. */
  revoked: readonly Subscriber[]
  /** Adds subscribers that begin late, at the start of the log. */
  late(): void
  close(): Promise<void>
}

export interface PopulationOptions {
  place: Place
  /** A lasting key, and one that will be revoked. */
  keys: { good: string; revoked: string }
  /** Cursor after which they begin. */
  after: string
  /** Deployments that some of them follow; at least one subscriber each. */
  deployments: readonly string[]
  /** Subscribers of each kind that follow the workspace. */
  each: number
  /** Returns the number of events so far. */
  written: () => number
  /** Events written while a slow reader pauses. */
  still: number
}

export function subscribe({ place, keys, after, deployments, each, written, still }: PopulationOptions): Population {
  const all: Subscriber[] = []
  function join(
    { name, wire, asks }: Kind,
    {
      what = '',
      key = keys.good,
      ...how
    }: Pick<SubscriberOptions, 'scope' | 'after' | 'slow'> & { what?: string; key?: string },
  ): Subscriber {
    const subscriber = new Subscriber(place, { kind: name + what, wire, asks, key, first: all.length, ...how })
    all.push(subscriber)
    return subscriber
  }
  const whole = ({ status }: Kind) => (status ? { status } : {})
  for (const kind of KINDS) {
    for (let i = 0; i < each; i++) join(kind, { scope: whole(kind), after })
    for (const [i, deploymentId] of deployments.entries()) {
      // one of them begins with the present
      const present = i === 1 && !kind.asks && !kind.silent
      join(kind, { what: ', one deployment', scope: { ...whole(kind), deploymentId }, after: present ? null : after })
    }
  }
  const revoked = KINDS.map((kind) =>
    join(kind, { what: ', with a key that is revoked', scope: whole(kind), after, key: keys.revoked }),
  )
  const slow: Kind[] = [
    { name: 'SSE, slow readers', wire: graphqlSse('long', slowly(written, still)), status: true },
    { name: 'WebSocket, slow readers', wire: webSocket(slowly(written, still)), status: true },
    { name: 'REST, slow readers', wire: restSse(slowly(written, still)) },
  ]
  for (const kind of slow) join(kind, { scope: whole(kind), after, slow: true })
  return {
    all,
    revoked,
    late() {
      for (const kind of KINDS) join(kind, { what: ', late', scope: whole(kind), after })
    },
    async close() {
      await Promise.all(all.map((subscriber) => subscriber.close()))
    },
  }
}
