/**
 * Connects to where a name leads, unless that is a private address: looked at for each connection, since DNS may answer
 * otherwise each time.
 */
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction, connect as plain, type Socket } from 'node:net'
import { connect as encrypted } from 'node:tls'
import type { buildConnector } from 'undici'
import { OAuthFailure } from '../../domain/ports/oauth-client.ts'
import { addressAllowed, isLoopback, type OutboundRules } from '../../platform/http/outbound-address.ts'
import { WrongAddressFailure } from './network-failure.ts'

/** All addresses of a name, as node:dns gives them. */
export type ResolveHost = (
  name: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6'; hints?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** One connection for one call. */
export interface Connection {
  connect: buildConnector.connector
  /** whether it was ready to be written to: from then on the other side may have got what was sent */
  isReady(): boolean
  /** also one that is still being made */
  destroy(): void
}

/**
 * How long one address of several is tried before the next: Node's 250 ms is less than some ways round the world take.
 */
const ADDRESS_ATTEMPT_TIMEOUT_MS = 1000

/** `host`: as `hostOf` gives it, its text checked already: an IP address is not looked up. */
export function createConnection(host: string, rules: OutboundRules, resolve: ResolveHost = systemLookup): Connection {
  let socket: Socket | null = null
  let made = false
  return {
    isReady: () => made,
    destroy: () => socket?.destroy(),
    connect({ protocol, port }, done) {
      // undici would connect again for a request that is not written yet: once is what was asked for
      if (socket) return done(new OAuthFailure('unanswered', 'cut the connection before its answer was complete'), null)
      const secure = protocol === 'https:'
      const lookup = guardedLookup(host, rules, secure, resolve)
      const how = { host, lookup, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_TIMEOUT_MS, noDelay: true }
      socket = secure
        ? encrypted({
            ...how,
            port: Number(port || 443),
            servername: isIP(host) ? undefined : host,
            ALPNProtocols: ['http/1.1'],
          })
        : plain({ ...how, port: Number(port || 80) })
      const opened = socket
      opened.once(secure ? 'secureConnect' : 'connect', () => {
        made = true
        done(null, opened)
      })
      // stays, so that what goes wrong later is never an uncaught error
      opened.on('error', (error) => {
        if (!made) done(error, null)
      })
    },
  }
}

/** Leaves only the addresses that may be called. Plain http stays on this machine, wherever its name leads. */
function guardedLookup(host: string, rules: OutboundRules, secure: boolean, resolve: ResolveHost): LookupFunction {
  return (name, options, done) => {
    resolve(name, { all: true, family: options.family, hints: options.hints }, (error, found) => {
      if (error) return done(error, [])
      const allowed = found.filter(
        ({ address }) => addressAllowed(rules, host, address) && (secure || isLoopback(address)),
      )
      const [first] = allowed
      // not which address: names of the network inside are not for everybody to look up
      if (!first)
        return done(new WrongAddressFailure('has a host name that leads to a private address; see OUTBOUND_ALLOW'), [])
      if (options.all) done(null, allowed)
      else done(null, first.address, first.family)
    })
  }
}
