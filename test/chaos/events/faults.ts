/** Faults of the servers, their connections and their Postgres. Each fault resolves when everything works again. */
import { LISTEN, type Place, type Server } from './place.ts'
import type { Random } from './random.ts'
import type { Subscriber } from './subscribers/subscriber.ts'
import { pause, untilTrue } from './waiting.ts'

export interface Struck {
  place: Place
  random: Random
  subscribers: readonly Subscriber[]
  /** Lease in s that a paused server loses. */
  lease: number
  /** Duration in ms of a silence or an outage. */
  awhile: number
  /** Reports a violated expectation. */
  wrong(what: string): void
}

/** Time in ms that a stopping server has to end. */
const STOP_TIMEOUT_MS = 10_000

const oneThatRuns = ({ place, random }: Struck): Server =>
  random.one(place.servers.filter(({ state }) => state === 'up'))

async function kill(struck: Struck, server: Server): Promise<void> {
  await struck.place.end(server, 'SIGKILL')
  await pause(struck.random.below(500))
  await start(struck, server)
}

/** Moves half of the clients to the server, so that the next fault meets streams on both. */
async function start({ place, random, subscribers }: Struck, server: Server): Promise<void> {
  await place.start(server)
  for (const one of subscribers) if (one.stream?.server !== server && random.next() < 0.5) one.leave()
}

export const FAULTS = {
  async 'kill -9 of a server'(struck) {
    await kill(struck, oneThatRuns(struck))
  },
  async 'kill -9 of both servers'(struck) {
    await Promise.all(struck.place.servers.map((server) => kill(struck, server)))
  },
  async 'SIGTERM to a server'(struck) {
    const server = oneThatRuns(struck)
    // a slow reader gets it later or was cut off before; a silenced connection gets nothing
    const streams = struck.subscribers
      .filter(({ slow, asks, hasBegun }) => !slow && !asks && hasBegun)
      .flatMap(({ kind, stream }) =>
        stream?.server === server && stream.heard && !stream.muted ? [{ kind, stream }] : [],
      )
    const told = streams.map(async ({ kind, stream }) => ({ kind, ...(await stream.ended) }))
    const { code, ms } = await struck.place.end(server, 'SIGTERM')
    const without = (await Promise.all(told)).filter(
      ({ how, cursor }) => how !== 'left' && !(how === 'UNAVAILABLE' && cursor),
    )
    for (const { kind, how } of without)
      struck.wrong(`${kind}: a stream of a server that was asked to stop ended without a cursor: ${how}`)
    if (code !== 0) struck.wrong(`a server that was asked to stop ended with ${code}`)
    if (ms > STOP_TIMEOUT_MS) struck.wrong(`a server that was asked to stop took ${Math.round(ms)} ms`)
    await start(struck, server)
  },
  async 'a server paused past its lease'(struck) {
    const { place, random, lease } = struck
    const server = oneThatRuns(struck)
    place.pause(server)
    // some of its clients leave, the others are still connected when it continues
    await pause(random.below(1000))
    server.clients.cut(0.5, random.next)
    await pause(lease * 1000 + 500)
    place.resume(server)
  },
  async 'connections cut'({ place, random }) {
    for (const { clients } of place.servers) clients.cut(0.7, random.next)
  },
  async 'connections silent'({ place, random, awhile, subscribers }) {
    const server = random.one(place.servers)
    const { clients } = server
    clients.goSilent()
    for (const { stream } of subscribers) if (stream?.server === server) stream.muted = true
    await pause(awhile)
    clients.heal()
  },
  async 'the database cut off from a server'(struck) {
    const { database } = oneThatRuns(struck)
    database.away(true)
    await pause(struck.random.below(struck.awhile))
    database.away(false)
  },
  async 'Postgres restarted'({ place }) {
    await place.restartPostgres('fast')
  },
  async 'Postgres crashed'({ place }) {
    await place.restartPostgres('immediate')
  },
  async 'LISTEN cut'({ place }) {
    // after a database outage they return within seconds
    await untilTrue(async () => (await place.cutListen()) > 0)
  },
  async 'LISTEN silent'({ place, awhile }) {
    for (const { database } of place.servers) database.goSilent(LISTEN)
    await pause(awhile)
    for (const { database } of place.servers) database.heal()
  },
} satisfies Record<string, (struck: Struck) => Promise<void>>

export type Fault = keyof typeof FAULTS
