// Resolves names below localhost to the loopback, as browsers and curl do (RFC 6761, 6.3). Node asks the system's resolver.
import dns from 'node:dns'

const { lookup } = dns
dns.lookup = Object.assign(
  (name, ...others) => lookup(name.endsWith('.localhost') ? '127.0.0.1' : name, ...others),
  lookup,
)
