/** All limits of a server, from its settings. */
import type { Config } from '../config.ts'
import type { Rooms } from '../domain/room.ts'
import { matcher } from './address.ts'
import { Admission } from './admission.ts'
import { Gate } from './gate.ts'
import { Pressure } from './pressure.ts'
import { createRoom } from './room.ts'

/** Heavy documents of one key that wait for their turn. */
const HEAVY_QUEUE = 50

export interface Limits {
  admission: Admission
  /** heavy GraphQL documents, by key */
  heavyDocuments: Gate
  rooms: Rooms
  /** whether an address is a proxy of ours, whose X-Forwarded-For is believed */
  trusted(address: string | undefined): boolean
}

export function openLimits(config: Config): Limits {
  const pressure = new Pressure()
  return {
    admission: new Admission({
      key: { perSecond: config.RATE_LIMIT, burst: config.RATE_LIMIT_BURST },
      address: { perSecond: config.ADDRESS_RATE_LIMIT, burst: config.ADDRESS_RATE_LIMIT_BURST },
      atOnce: config.REQUESTS_AT_ONCE,
      pressure,
    }),
    heavyDocuments: new Gate({ most: config.HEAVY_DOCUMENTS, queue: HEAVY_QUEUE, pressure }),
    rooms: {
      streams: createRoom(config.STREAMS_PER_WORKSPACE),
      waits: createRoom(config.WAITS_PER_WORKSPACE),
      listenerWaits: createRoom(config.WAITS_PER_WORKSPACE),
    },
    trusted: matcher(config.TRUST_PROXY),
  }
}
