/** Value types of settings: zod schemas of their text, with the message for a wrong value. */
import { isIP, isIPv6 } from 'node:net'
import path from 'node:path'
import { z } from 'zod'

/** name → [schema, default as text] */
export type SettingsTable = Record<string, readonly [z.ZodType, string?]>

export const text = z.string().min(1)

/** `1-5` → [1, 5], inclusive. */
export const portRange = z
  .string()
  .regex(/^\d{1,5}-\d{1,5}$/, 'must look like 3100-3999')
  .transform((text) => text.split('-').map(Number) as [number, number])
  .refine(([low, high]) => low >= 1 && high <= 65_535 && low <= high, 'must be two ports, the lower one first')

/** User ids for accounts; above 2³¹ some programs read a negative number. Excludes 65534 and 65535, which systems reserve. */
const isUid = (id: number) => id >= 1000 && id < 2 ** 31 - 1 && id !== 65_534 && id !== 65_535

/** `1-5` → [1, 5], inclusive; or `off`. */
export const uidRange = z
  .string()
  .regex(/^(off|\d{1,10}-\d{1,10})$/, 'must look like 60578-61183, or be off')
  .transform((text) => (text === 'off' ? text : (text.split('-').map(Number) as [number, number])))
  .refine(
    (range) => range === 'off' || (range.every(isUid) && range[0] < range[1]),
    'must be two user ids from 1000 to 2147483646, the lower one first, or off',
  )

/** A path, made absolute. */
export const folder = z
  .string()
  .min(1)
  .transform((name) => path.resolve(name))

/** Path of a log file. The door of a machine outlives the server, whose output it can't use. */
export const accessLog = folder.refine(
  (name) => name !== path.resolve('-') && !name.startsWith('/dev/'),
  'must be the path of a file: only `pilothouse door` can write to its standard output',
)
export const accessLogOrStdout = z
  .string()
  .transform((name) => (name === '-' || name === '/dev/stdout' ? '-' : path.resolve(name)))

export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)
/** Host names, IP addresses and ranges in CIDR notation. */
export const outboundAllow = list.refine(
  (entries) => entries.every(isOutboundEntry),
  'must be host names, IP addresses or ranges like 10.0.0.0/8, comma-separated',
)
/** IP addresses and ranges in CIDR notation. */
export const ranges = list.refine(
  (entries) => entries.every((entry) => isIP(entry.split('/')[0]!) > 0 && isOutboundEntry(entry)),
  'must be IP addresses or ranges like 10.0.0.0/8, comma-separated',
)
/** Origins as browsers write them: scheme, host, and the port unless it is the scheme's default. */
export const origins = list.refine(
  (entries) =>
    entries.every((entry) => /^https?:/.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry),
  'must be origins like https://example.com, comma-separated, without a path',
)
export const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
/** Pattern of the agents' addresses. `{name}` stands for the deployment's name, so it must be in the first label of the host. */
export const appsUrl = z
  .string()
  .regex(
    /^https?:\/\/[a-z0-9-]*\{name\}[a-z0-9-]*(\.[a-z0-9-]+)*(:\d{1,5})?$/i,
    'must look like https://{name}.apps.example.com, with {name} in the first part of the host',
  )
/** Digits, with a fraction if `pattern` allows one. Both limits are inclusive. */
function numeric(min: number, max: number, pattern: RegExp, what: string) {
  const error = `must be ${what} from ${min} to ${max}`
  return z
    .string()
    .regex(pattern, error)
    .transform(Number)
    .refine((value) => value >= min && value <= max, error)
}
/** The secret that the doors of a cluster share with the servers. */
export const doorToken = z
  .string({ error: 'is missing' })
  // a Secret made from a file often ends with a newline
  .trim()
  .regex(/^[\x21-\x7e]{32,256}$/, 'must be 32 to 256 printable characters without spaces')
/** host:port */
export const doorService = z
  .string()
  .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+:\d{1,5}$/, 'must look like pilothouse-door.pilothouse.svc.cluster.local:80')
  .transform((text) => ({ host: text.split(':')[0]!, port: Number(text.split(':')[1]) }))
/** namespace/name of a Gateway */
export const gateway = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
    'must be namespace and name of a Gateway, like gateways/public',
  )
  .transform((text) => ({ namespace: text.split('/')[0]!, name: text.split('/')[1]! }))
export const uuids = list.pipe(z.array(z.guid('must be ids, comma-separated').toLowerCase()))
export const integer = (min: number, max: number) => numeric(min, max, /^\d+$/, 'a whole number')
/** A limit; 0 means no limit and becomes null. Fractions are allowed only if `min` is below 1. */
export const amount = (min: number, max: number) => {
  const error = `must be 0, or a ${min < 1 ? '' : 'whole '}number from ${min} to ${max}`
  return z
    .string()
    .regex(min < 1 ? /^\d+(\.\d+)?$/ : /^\d+$/, error)
    .transform(Number)
    .refine((value) => value === 0 || (value >= min && value <= max), error)
    .transform((value) => value || null)
}
/** Cores, with at most one decimal, as in a resource spec. */
export const cores = (min: number, max: number) =>
  numeric(min, max, /^\d+(\.\d)?$/, 'a number, with at most one decimal,')
/** at most a week */
export const minutes = numeric(0.01, 10_080, /^\d+(\.\d+)?$/, 'a number')
export const host = z
  .string()
  .refine(
    (text) => /^[\w.-]+$/.test(text) || isIPv6(text.replace(/^\[(.*)\]$/, '$1')),
    'must be a host name or an address, without scheme and port',
  )
export const onOff = z.enum(['on', 'off'], { error: 'must be on or off' }).transform((text) => text === 'on')

export const image = z
  .string()
  .regex(/^[a-z0-9][A-Za-z0-9._:/@-]*$/, 'must be an image reference: registry/repository:tag or …@sha256:digest')
export const k8sName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of a Kubernetes object')
/** Name of a Kubernetes object. With the placeholder `{deployment}` it differs for each deployment. */
export const k8sNameOfDeployment = z
  .string()
  .refine((text) => k8sName.safeParse(text.replaceAll('{deployment}', 'd')).success, {
    error: 'must be the name of a Kubernetes object; {deployment} in it stands for the deployment',
  })
/** JSON object of strings. */
export const annotations = z.string().transform((text, context): Record<string, string> => {
  const parsed = z
    .string()
    .transform((json) => JSON.parse(json))
    .catch(null)
    .parse(text)
  const map = z.record(z.string().min(1), z.string()).safeParse(parsed)
  if (map.success) return map.data
  context.addIssue({
    code: 'custom',
    message: 'must be JSON with texts, like {"cert-manager.io/cluster-issuer": "letsencrypt"}',
  })
  return z.NEVER
})
/** A pod's user id, not root. `any` becomes null: the cluster assigns one. */
export const podUser = z
  .string()
  .regex(/^(any|\d{1,10})$/, 'must be a user id, or any')
  .transform((text) => (text === 'any' ? null : Number(text)))
  .refine((id) => id === null || (id >= 1 && id < 2 ** 31), 'must be a user id from 1 to 2147483647, or any')
export const domain = z
  .string()
  .regex(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a domain name')

/**
 * Rejects schemes, ports, `*`, and incomplete addresses like `10.1` or `10.0.0.256`: a host name's last label is not a
 * number.
 */
function isOutboundEntry(entry: string): boolean {
  const [address = '', bits = ''] = entry.split('/')
  const version = isIP(address)
  if (entry.includes('/'))
    return version > 0 && entry === `${address}/${Number(bits)}` && Number(bits) <= (version === 4 ? 32 : 128)
  return version > 0 || /^([\w-]+\.)*(?!\d+\.?$)[\w-]+\.?$/.test(entry)
}
