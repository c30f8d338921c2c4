/** Decides which addresses the server's outbound calls may reach (OUTBOUND_ALLOW). This is the defence against SSRF. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Entries of OUTBOUND_ALLOW: host names, IP addresses, ranges in CIDR notation. */
export interface OutboundRules {
  allow: readonly string[]
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The IPv6 range assigned for the Internet so far; the rest is reserved or embeds IPv4 addresses. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Why calls to this URL are refused, judged by its text: "must be …", "is at …". Null: they are allowed. */
export function addressRefusal(rules: OutboundRules, url: string): string | null {
  const refusal = urlRefusal(url)
  if (refusal) return refusal
  const host = hostOf(new URL(url))
  if (isLocalName(host)) {
    const allowed = ['127.0.0.1', '::1'].some((ip) => addressAllowed(rules, host, ip))
    return allowed ? null : 'is at this machine itself; see OUTBOUND_ALLOW'
  }
  if (!isIP(host) || addressAllowed(rules, host, host)) return null
  return `is at a private address (${host}); see OUTBOUND_ALLOW`
}

/** Checks the URL itself, without the address rules. */
function urlRefusal(text: string): string | null {
  // URL accepts spaces and backslashes, but other parsers read them differently
  const url = /^[a-z]+:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? new URL(text) : null
  if (!url || !hostOf(url)) return 'must be an absolute URL'
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(hostOf(url)))) {
    return 'must be an https address (http only on this machine)'
  }
  if (url.username || url.password) return 'must be without user name and password'
  if (text.includes('#')) return 'must be without a fragment (#…)'
  return null
}

/** Whether a call to `hostname` (from `hostOf`) may go to its address `ip`. False when `ip` is not an IP address. */
export function addressAllowed(rules: OutboundRules, hostname: string, ip: string): boolean {
  if (!isIP(ip)) return false
  const address = ipaddr.process(ip)
  return isPublic(address) || rules.allow.some((entry) => covers(entry, hostname, address))
}

/** The host name in lower case, without brackets and final dot. */
export function hostOf(url: URL): string {
  return bare(url.hostname.replace(/^\[(.*)\]$/, '$1'))
}

/** Whether `host`, a name or an address, is this machine. Plain http may go nowhere else. */
export function isLoopback(host: string): boolean {
  return isLocalName(host) || (isIP(host) > 0 && ipaddr.process(host).range() === 'loopback')
}

/** These names never leave the machine (RFC 6761, 6.3). */
function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_IPV6)
}

function covers(entry: string, hostname: string, address: Address): boolean {
  const [network = '', bits] = entry.split('/')
  // allowing `localhost` by name also allows its addresses
  if (bare(entry) === 'localhost' && address.range() === 'loopback') return true
  if (!isIP(network)) return bare(entry) === hostname
  // `process` unwraps IPv4-mapped IPv6 addresses; ranges are taken literally
  const own = bits === undefined ? ipaddr.process(network) : ipaddr.parse(network)
  if (own.kind() !== address.kind()) return false
  return address.match(own, bits === undefined ? address.toByteArray().length * 8 : Number(bits))
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
