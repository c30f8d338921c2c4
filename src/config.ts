/**
 * Every setting of the server, from the environment. The only reader of process.env. A wrong value stops
 * the start with one clear line. README's table of settings is checked against SETTINGS by a test.
 */
import { isIPv6 } from 'node:net'
import path from 'node:path'
import { z } from 'zod'

/** `1-5` → [1, 5], inclusive. */
const portRange = z
  .string()
  .regex(/^\d{1,5}-\d{1,5}$/, 'must look like 3100-3999')
  .transform((text) => text.split('-').map(Number) as [number, number])
  .refine(([low, high]) => low >= 1 && high <= 65_535 && low <= high, 'must be two ports, the lower one first')

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)
export const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
/** Digits, with a fraction if `pattern` allows one; both bounds are inclusive. */
function numeric(min: number, max: number, pattern: RegExp, what: string) {
  const error = `must be ${what} from ${min} to ${max}`
  return z
    .string()
    .regex(pattern, error)
    .transform(Number)
    .refine((value) => value >= min && value <= max, error)
}
export const integer = (min: number, max: number) => numeric(min, max, /^\d+$/, 'a whole number')
/** at most a week */
const minutes = numeric(0.01, 10_080, /^\d+(\.\d+)?$/, 'a number')
export const host = z
  .string()
  .refine(
    (text) => /^[\w.-]+$/.test(text) || isIPv6(text.replace(/^\[(.*)\]$/, '$1')),
    'must be a host name or an address, without scheme and port',
  )
const MODES = { error: 'must be cloud, self_hosted or both' }
const onOff = z.enum(['on', 'off'], { error: 'must be on or off' }).transform((text) => text === 'on')

/** name → [schema, default as it would be written (null: none), what it is for] */
export type SettingsTable = Record<string, readonly [z.ZodType, string | null, string]>

const image = z
  .string()
  .regex(/^[a-z0-9][A-Za-z0-9._:/@-]*$/, 'must be an image reference: registry/repository:tag or …@sha256:digest')
const k8sName = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of a Kubernetes object')
const domain = z
  .string()
  .regex(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a domain name')

/** What the Kubernetes runtime is set by, in a listener and in a server with RUNTIME=kubernetes alike. */
export const KUBERNETES_SETTINGS = {
  KUBECONFIG: [
    z.string().min(1).optional(),
    null,
    'kubeconfig file of the cluster. None: the service account of the pod, or `~/.kube/config`',
  ],
  POSTGRES_IMAGE: [image, 'postgres:17', 'image of the database of each deployment'],
  REDIS_IMAGE: [image, 'redis:7', 'image of the cache of each deployment'],
  STORAGE_CLASS: [k8sName.optional(), null, 'storage class of the databases. None: the default of the cluster'],
  VOLUME_POLICY: [
    z.enum(['delete', 'keep'], { error: 'must be delete or keep' }),
    'delete',
    'what happens to the volume of a database when its deployment is deleted',
  ],
  INGRESS_DOMAIN: [
    domain.optional(),
    null,
    'deployments get an Ingress at a name below it. None: only those with a `custom_url`',
  ],
  INGRESS_CLASS: [k8sName.optional(), null, 'class of these Ingresses. None: the default of the cluster'],
  INGRESS_TLS_SECRET: [
    k8sName.optional(),
    null,
    'TLS secret for names below `INGRESS_DOMAIN`, in the namespace of the deployment. None: plain http',
  ],
} as const satisfies SettingsTable

export const SETTINGS = {
  PORT: [integer(0, 65_535), '8080', 'port of the server; 0 takes any free one'],
  HOST: [host, '127.0.0.1', 'address the server listens on; `0.0.0.0` for all'],
  PUBLIC_URL: [
    url.optional(),
    null,
    'how clients reach us; absolute URLs are made from it. Default: `http://HOST:PORT`',
  ],
  DATABASE_URL: [
    z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional(),
    null,
    'Postgres ≥ 15. None: an embedded Postgres in `DATA_DIR`',
  ],
  DATABASE_POOL: [integer(2, 500), '10', 'connections to Postgres that this process may use'],
  DATA_DIR: [
    z
      .string()
      .min(1)
      .transform((dir) => path.resolve(dir)),
    '.data',
    'embedded Postgres, key file, checkouts and artifacts',
  ],
  CONTROL_PLANE_API_KEY: [
    z
      .string()
      .regex(/^[\x21-\x7e]{20,256}$/, 'must be 20 to 256 printable characters without spaces')
      .optional(),
    null,
    'the first admin key, used when the database is empty. None: one is generated and printed once',
  ],
  SECRETS_KEYS: [
    z
      .string()
      .regex(
        /^[\w-]+:[A-Za-z0-9+/]{43}=(,[\w-]+:[A-Za-z0-9+/]{43}=)*$/,
        'must be id:base64-of-32-bytes, comma-separated, newest first',
      )
      .refine((text) => {
        const ids = text.split(',').map((entry) => entry.split(':')[0])
        return new Set(ids).size === ids.length
      }, 'must have each id once')
      .optional(),
    null,
    'key ring for secrets at rest, `id:base64` of 32 bytes, comma-separated, the first one encrypts. None: a key file in `DATA_DIR`, made at the first start',
  ],
  LOG_LEVEL: [
    z.enum(['debug', 'info', 'warn', 'error', 'silent'], { error: 'must be debug, info, warn, error or silent' }),
    'info',
    'least level that is logged',
  ],
  JWT_ISSUER: [url.optional(), null, 'issuer of accepted JWTs; with it, `Authorization: Bearer <jwt>` is on'],
  JWT_AUDIENCE: [z.string().min(1).optional(), null, 'audience of accepted JWTs; required with `JWT_ISSUER`'],
  JWT_JWKS_URL: [url.optional(), null, 'where the issuer’s keys are; required with `JWT_ISSUER`'],
  DEPLOYMENT_MODES: [
    list.pipe(z.array(z.enum(['cloud', 'self_hosted'], MODES)).min(1, MODES)),
    'cloud,self_hosted',
    '`cloud` offers the `gitprovider` source, `self_hosted` offers `external_container`',
  ],
  WORKER: [onOff, 'on', '`off`: this process runs no worker; revisions wait for another one'],
  RUNTIME: [
    z.enum(['process', 'kubernetes', 'none'], { error: 'must be process, kubernetes or none' }).optional(),
    null,
    'what the built-in worker runs deployments with. `process`: on this host; `kubernetes`: in a cluster. Default: `process` with the embedded database, `none` with a `DATABASE_URL`',
  ],
  APP_HOST: [host, '127.0.0.1', 'host name in the addresses of deployments; the process runtime listens on it'],
  APP_PORTS: [portRange, '3100-3999', 'ports of the process runtime, one for each deployment'],
  APP_USER: [
    z.string().min(1).optional(),
    null,
    'account for builds and agents when the server runs as root. Default: an unprivileged account of the system',
  ],
  GIT_DIRECTORY: [
    z
      .string()
      .min(1)
      .transform((dir) => path.resolve(dir))
      .optional(),
    null,
    'folder of the bare repositories of the `directory` integration. Default: `git` in `DATA_DIR`',
  ],
  K8S_NAMESPACE: [
    z
      .string()
      .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a Kubernetes namespace')
      .optional(),
    null,
    'namespace of the deployments; required with `RUNTIME=kubernetes`',
  ],
  ...KUBERNETES_SETTINGS,
  LEASE_SECONDS: [integer(1, 600), '15', 'how long a lease of the built-in worker lasts without a heartbeat'],
  PROVISION_DEADLINE_MINUTES: [minutes, '10', 'longest time for provisioning once it was begun'],
  BUILD_DEADLINE_MINUTES: [minutes, '30', 'longest time for a build once it was begun'],
  DEPLOY_DEADLINE_MINUTES: [minutes, '10', 'longest time for a deploy once it was begun'],
  SWEEP_SECONDS: [integer(1, 3600), '5', 'how often deadlines are enforced'],
  GRAPHIQL: [onOff, 'on', 'GraphiQL at `/graphql` in a browser'],
  INTROSPECTION: [onOff, 'on', 'introspection of the GraphQL schema'],
} as const satisfies SettingsTable

/** The settings of a table, as parsed. */
export type ParsedSettings<T extends SettingsTable> = { [K in keyof T]: z.output<T[K][0]> }

/** The settings as parsed, and what follows from several of them together. */
export interface Config extends Omit<ParsedSettings<typeof SETTINGS>, 'RUNTIME' | 'GIT_DIRECTORY'> {
  RUNTIME: 'process' | 'kubernetes' | 'none'
  GIT_DIRECTORY: string
}

/** A setting is wrong. `message` is the one line that the operator reads. */
export class ConfigError extends Error {}

/** Parses the settings of a table from an environment, and adds every wrong one to `wrong`, in words. */
export function parseSettings<T extends SettingsTable>(
  table: T,
  env: Record<string, string | undefined>,
  wrong: string[],
): ParsedSettings<T> {
  const parsed: Record<string, unknown> = {}
  for (const [name, [schema, preset]] of Object.entries(table)) {
    // an empty variable is one that was not set: compose files and CI write them so
    const result = schema.safeParse(env[name] || (preset ?? undefined))
    if (result.success) parsed[name] = result.data
    else wrong.push(`${name} ${result.error.issues[0]?.message ?? 'is wrong'}`)
  }
  return parsed as ParsedSettings<T>
}

/** Throws ConfigError with one line if any setting was wrong. */
export function rejectWrong(wrong: string[]): void {
  if (wrong.length > 0) throw new ConfigError(`Wrong settings: ${wrong.join('; ')}`)
}

/** Parses an environment. Throws ConfigError with one line that names every wrong setting. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const wrong: string[] = []
  const config = parseSettings(SETTINGS, env, wrong)
  if (wrong.length === 0) {
    const jwt = [config.JWT_ISSUER, config.JWT_AUDIENCE, config.JWT_JWKS_URL]
    if (jwt.some(Boolean) && !jwt.every(Boolean))
      wrong.push('JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL need each other')
    if (config.RUNTIME === 'kubernetes' && !config.K8S_NAMESPACE)
      wrong.push('RUNTIME=kubernetes needs K8S_NAMESPACE, the namespace of the deployments')
  }
  rejectWrong(wrong)
  return {
    ...config,
    RUNTIME: config.RUNTIME ?? (config.DATABASE_URL ? 'none' : 'process'),
    GIT_DIRECTORY: config.GIT_DIRECTORY ?? path.join(config.DATA_DIR, 'git'),
  }
}
