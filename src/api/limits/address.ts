/** By which key the limits count an address, and which addresses are our own proxies. */
import ipaddr from 'ipaddr.js'

/** Of an IPv6 address the first 64 bits: the rest is its owner's to choose. */
const OWNED_BITS = 64

/** What the limits count by. An address that can't be read (a proxy may send anything) is one like any other such. */
export function addressKey(address: string | undefined): string {
  if (!address || !ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return (parsed as ipaddr.IPv6).parts
    .slice(0, OWNED_BITS / 16)
    .map((part) => part.toString(16))
    .join(':')
}

/** Says of an address whether it is one of `entries` (addresses and ranges in CIDR notation). */
export function matcher(entries: readonly string[]): (address: string | undefined) => boolean {
  const ranges = entries.map((entry) => {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry)
    const own = ipaddr.process(entry)
    return [own, own.toByteArray().length * 8] as [ipaddr.IPv4 | ipaddr.IPv6, number]
  })
  return (address) => {
    if (!address || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return ranges.some(([own, bits]) => own.kind() === parsed.kind() && parsed.match(own, bits))
  }
}
