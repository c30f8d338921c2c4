/** Keys that count client addresses, and trusted proxies. */
import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

/** An IPv6 client usually owns a /64 network and chooses the other bits freely. */
const OWNED_BITS = 64

/** The key of an address. All unreadable addresses share one key, because a proxy may send anything. */
export function addressKey(address: string | undefined): string {
  if (!address || !ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return (parsed as ipaddr.IPv6).parts
    .slice(0, OWNED_BITS / 16)
    .map((part) => part.toString(16))
    .join(':')
}

/** Returns a function that tells whether an address matches one of `entries` (addresses or CIDR ranges). */
export function matcher(entries: readonly string[]): (address: string | undefined) => boolean {
  const ranges = entries.map((entry) => {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry)
    const own = ipaddr.process(entry)
    return [own, own.toByteArray().length * 8] as [ipaddr.IPv4 | ipaddr.IPv6, number]
  })
  if (ranges.length === 0) return () => false
  return (address) => {
    if (!address || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return ranges.some(([own, bits]) => own.kind() === parsed.kind() && parsed.match(own, bits))
  }
}

/** The address of a request's client: the last in `X-Forwarded-For` that is no trusted proxy, if a trusted proxy sent the request. */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  isTrusted: (address: string | undefined) => boolean,
): string {
  const address = socket.remoteAddress ?? ''
  const forwarded = headers['x-forwarded-for']
  if (forwarded === undefined || !isTrusted(address)) return address
  const named = String(forwarded)
    .split(',')
    .map((one) => one.trim())
  return named.findLast((one) => !isTrusted(one)) ?? address
}
