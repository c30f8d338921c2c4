/**
 * Which addresses this server's own calls may go to (OUTBOUND_ALLOW): the defence against being aimed at private
 * networks (SSRF).
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Entries of OUTBOUND_ALLOW: host names, IP addresses, ranges in CIDR notation. */
export interface OutboundRules {
  allow: readonly string[]
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** All that is handed out to networks of the Internet so far; the rest of IPv6 is reserved, or embeds old addresses. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Why calls to this URL would be refused, as far as its text tells: "must be …", "is at …". Null: they wouldn't. */
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

/** The part of it that is about the URL itself. */
function urlRefusal(text: string): string | null {
  // spaces and backslashes, which URL would mend, are read otherwise elsewhere
  const url = /^[a-z]+:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? new URL(text) : null
  if (!url || !hostOf(url)) return 'must be an absolute URL'
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(hostOf(url)))) {
    return 'must be an https address (http only on this machine)'
  }
  if (url.username || url.password) return 'must be without user name and password'
  if (text.includes('#')) return 'must be without a fragment (#…)'
  return null
}

/**
 * Whether a call to `hostname` (as `hostOf` gives it) may go to `ip`, one of its addresses. What is no address may not.
 */
export function addressAllowed(rules: OutboundRules, hostname: string, ip: string): boolean {
  if (!isIP(ip)) return false
  const address = ipaddr.process(ip)
  return isPublic(address) || rules.allow.some((entry) => covers(entry, hostname, address))
}

/** The host name without brackets and final dot, in small letters. */
export function hostOf(url: URL): string {
  return bare(url.hostname.replace(/^\[(.*)\]$/, '$1'))
}

/** Whether it is this machine: the only one that plain http may go to. `host`: a name or an address. */
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
  // whoever allows this machine by its name means it by its addresses, too
  if (bare(entry) === 'localhost' && address.range() === 'loopback') return true
  if (!isIP(network)) return bare(entry) === hostname
  // `process` reads an IPv4 address in IPv6 clothes as what it is; a range is taken as it stands
  const own = bits === undefined ? ipaddr.process(network) : ipaddr.parse(network)
  if (own.kind() !== address.kind()) return false
  return address.match(own, bits === undefined ? address.toByteArray().length * 8 : Number(bits))
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
