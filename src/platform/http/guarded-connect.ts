/** Connects to a host unless it resolves to a private address. Each connection checks the address that it uses (README.md). */
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction, connect as plain, type Socket } from 'node:net'
import { connect as encrypted } from 'node:tls'
import type { buildConnector } from 'undici'
import { addressAllowed, isLoopback, type OutboundRules } from './outbound-address.ts'
import { OutboundFailure, WrongAddressFailure } from './outbound-failure.ts'

/** Resolves all addresses of a name, like node:dns. */
export type ResolveHost = (
  name: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6'; hints?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export interface Connection {
  connect: buildConnector.connector
  /** whether the socket became writable: from then on the server may have received data */
  isReady(): boolean
  /** also destroys a socket that is still connecting */
  destroy(): void
}

/** Time to try one of several addresses. Node's default of 250 ms is too short for some intercontinental routes. */
const ADDRESS_ATTEMPT_TIMEOUT_MS = 1000

/** `host`: from `hostOf`, with its text already checked. An IP address is not resolved. */
export function createConnection(host: string, rules: OutboundRules, resolve: ResolveHost = systemLookup): Connection {
  let socket: Socket | null = null
  let made = false
  return {
    isReady: () => made,
    destroy: () => socket?.destroy(),
    connect({ protocol, port }, done) {
      // undici would reconnect for an unwritten request, but a request must be sent at most once
      if (socket)
        return done(new OutboundFailure('unanswered', 'cut the connection before its answer was complete'), null)
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
      // stays registered, so a later error is never uncaught
      opened.on('error', (error) => {
        if (!made) done(error, null)
      })
    },
  }
}

/** Passes on only allowed addresses. Plain http reaches only loopback addresses. */
function guardedLookup(host: string, rules: OutboundRules, secure: boolean, resolve: ResolveHost): LookupFunction {
  return (name, options, done) => {
    resolve(name, { all: true, family: options.family, hints: options.hints }, (error, found) => {
      if (error) return done(error, [])
      const allowed = found.filter(
        ({ address }) => addressAllowed(rules, host, address) && (secure || isLoopback(address)),
      )
      const [first] = allowed
      // does not reveal the address, because callers must not explore the internal network
      if (!first)
        return done(new WrongAddressFailure('has a host name that leads to a private address; see OUTBOUND_ALLOW'), [])
      if (options.all) done(null, allowed)
      else done(null, first.address, first.family)
    })
  }
}
