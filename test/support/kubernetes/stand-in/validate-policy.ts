/** Validates policies: LimitRange, NetworkPolicy, PodDisruptionBudget. */
import { isIP } from 'node:net'
import type { Json } from './objects.ts'
import { nano } from './quantity.ts'
import { labels, type Problems } from './validate-words.ts'

export function limitProblems({ spec }: Json, problems: Problems): void {
  const types = new Set<string>()
  for (const [n, limit] of (spec?.limits ?? []).entries()) {
    const at = `spec.limits[${n}]`
    if (!limit.type) problems.required(`${at}.type`)
    if (types.has(limit.type)) problems.duplicate(`${at}.type`, limit.type)
    types.add(limit.type)
    if (limit.type === 'Pod') {
      for (const name of ['default', 'defaultRequest'])
        if (limit[name]) problems.forbidden(`${at}.${name}`, "may not be specified when `type` is 'Pod'")
    }
    for (const member of ['max', 'min', 'default', 'defaultRequest'])
      for (const [resource, amount] of Object.entries(limit[member] ?? {}))
        problems.quantity(`${at}.${member}[${resource}]`, amount)
    // each value must be at most the next one
    const order = ['min', 'defaultRequest', 'default', 'max']
    for (const [low, high] of order.flatMap((one, i) => order.slice(i + 1).map((other) => [one, other] as const)))
      for (const [resource, amount] of Object.entries<Json>(limit[low] ?? {})) {
        const most = limit[high]?.[resource]
        if (most !== undefined && nano(amount) > nano(most))
          problems.invalid(
            `${at}.${low}[${resource}]`,
            amount,
            `${low} value ${amount} is greater than ${high} value ${most}`,
          )
      }
  }
}

/** Validates a label selector, but not what it selects. */
function selector(value: Json, at: string, problems: Problems): void {
  labels(value?.matchLabels, `${at}.matchLabels`, problems)
}

export function networkProblems({ spec }: Json, problems: Problems): void {
  selector(spec.podSelector, 'spec.podSelector', problems)
  for (const type of spec.policyTypes ?? [])
    if (!['Ingress', 'Egress'].includes(type)) problems.unsupported('spec.policyTypes', type, ['Egress', 'Ingress'])
  for (const [name, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const)
    for (const [n, rule] of (spec[name] ?? []).entries()) {
      for (const [m, peer] of (rule[peers] ?? []).entries())
        networkPeer(peer, `spec.${name}[${n}].${peers}[${m}]`, problems)
      for (const [m, { port, protocol }] of (rule.ports ?? []).entries()) {
        const at = `spec.${name}[${n}].ports[${m}]`
        if (typeof port === 'number' && !(port >= 1 && port <= 65535))
          problems.invalid(`${at}.port`, port, 'must be between 1 and 65535, inclusive')
        if (!['TCP', 'UDP', 'SCTP'].includes(protocol))
          problems.unsupported(`${at}.protocol`, protocol, ['TCP', 'UDP', 'SCTP'])
      }
    }
}

function networkPeer(peer: Json, at: string, problems: Problems): void {
  const kinds = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((name) => peer[name])
  if (kinds.length === 0) problems.required(at, 'must specify a peer')
  if (peer.ipBlock && kinds.length > 1) problems.forbidden(at, 'may not specify both ipBlock and another peer')
  selector(peer.podSelector, `${at}.podSelector`, problems)
  if (!peer.ipBlock) return
  const within = cidr(peer.ipBlock.cidr)
  if (!within)
    problems.invalid(
      `${at}.ipBlock.cidr`,
      peer.ipBlock.cidr,
      'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    )
  for (const [n, text] of (peer.ipBlock.except ?? []).entries()) {
    const excepted = cidr(text)
    const strict = within && excepted && excepted.family === within.family && excepted.bits > within.bits
    if (!strict) problems.invalid(`${at}.ipBlock.except[${n}]`, text, `must be a strict subset of \`cidr\``)
  }
}

function cidr(text: unknown): { family: number; bits: number } | null {
  const [address = '', length = ''] = String(text).split('/')
  const family = isIP(address)
  if (family === 0 || !/^\d+$/.test(length) || Number(length) > (family === 4 ? 32 : 128)) return null
  return { family, bits: Number(length) }
}

export function disruptionProblems({ spec }: Json, problems: Problems): void {
  selector(spec.selector, 'spec.selector', problems)
  const { minAvailable, maxUnavailable } = spec
  if (minAvailable !== undefined && maxUnavailable !== undefined)
    problems.invalid('spec', '', 'minAvailable and maxUnavailable cannot be both set')
  for (const [name, value] of Object.entries({ minAvailable, maxUnavailable }))
    if (value !== undefined && !/^\d+%?$/.test(String(value)))
      problems.invalid(`spec.${name}`, value, 'must be greater than or equal to 0')
}
