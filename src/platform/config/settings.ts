/**
 * All settings of the server: schema and default. config.ts reads them. docs/settings.md describes them; a test compares it
 * with SETTINGS.
 */
import { z } from 'zod'
import { LOG_FORMATS } from '../log/destination.ts'
import { BUILD_SETTINGS, IMAGE_SETTINGS } from './build-settings.ts'
import { defaultDataDir } from './data-dir.ts'
import { KUBERNETES_SETTINGS } from './kubernetes-settings.ts'
import {
  accessLog,
  amount,
  doorToken,
  folder,
  host,
  integer,
  list,
  minutes,
  onOff,
  origins,
  outboundAllow,
  portRange,
  ranges,
  type SettingsTable,
  text,
  uidRange,
  url,
  uuids,
} from './setting-types.ts'
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts'

/** Passwords go to the issuer, so it must use https, except on this machine. */
const issuer = url.refine((text) => {
  const { protocol, hostname, search, hash, username } = new URL(text)
  const own = hostname === 'localhost' || hostname.endsWith('.localhost') || ['127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || own) && search === '' && hash === '' && username === ''
}, 'must be an https URL (http only on this machine) without a query')
const scopes = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter(Boolean))
  .refine(
    (scopes) => scopes.includes('openid') && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)),
    'must be scopes with spaces between, openid among them',
  )

const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' })
const MODES = { error: 'must be cloud, self_hosted or both' }

export const SETTINGS = {
  PORT: [integer(0, 65_535), '8080'],
  HOST: [host, '127.0.0.1'],
  PUBLIC_URL: [url.optional()],
  DATABASE_URL: [postgresUrl.optional()],
  DATABASE_DIRECT_URL: [postgresUrl.optional()],
  DATABASE_POOL: [integer(2, 500), '10'],
  DATABASE_WORKER_POOL: [integer(2, 100), '5'],
  DATABASE_QUERY_SECONDS: [integer(1, 300), '8'],
  DATABASE_WAIT_SECONDS: [integer(0, 86_400), '300'],
  DATA_DIR: [folder, defaultDataDir('pilothouse')],
  CONTROL_PLANE_API_KEY: [
    z
      .string()
      .regex(/^[\x21-\x7e]{20,256}$/, 'must be 20 to 256 printable characters without spaces')
      .optional(),
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
  ],
  LOG_LEVEL: [
    z.enum(['debug', 'info', 'warn', 'error', 'silent'], { error: 'must be debug, info, warn, error or silent' }),
    'info',
  ],
  LOG_FORMAT: [z.enum(LOG_FORMATS, { error: `must be ${LOG_FORMATS.join(', ')}` }), 'auto'],
  ...TELEMETRY_SETTINGS,
  JWT_ISSUER: [url.optional()],
  JWT_AUDIENCE: [text.optional()],
  JWT_JWKS_URL: [url.optional()],
  SESSION_HOURS: [integer(1, 8760), '168'],
  OIDC_ISSUER: [issuer.optional()],
  OIDC_CLIENT_ID: [text.optional()],
  OIDC_CLIENT_SECRET: [text.optional()],
  OIDC_SCOPES: [scopes, 'openid profile email'],
  OIDC_NAME: [z.string().max(60, 'must have at most 60 characters').optional()],
  DEPLOYMENT_MODES: [list.pipe(z.array(z.enum(['cloud', 'self_hosted'], MODES)).min(1, MODES)), 'cloud,self_hosted'],
  WORKER: [onOff, 'on'],
  RUNTIME: [z.enum(['process', 'kubernetes', 'none'], { error: 'must be process, kubernetes or none' }).optional()],
  APPS_PORT: [integer(0, 65_535), '8081'],
  APPS_OFFLINE_HOURS: [integer(1, 8760), '24'],
  APPS_ACCESS_LOG: [accessLog.optional()],
  APPS_TLS_CERT: [text.optional()],
  APPS_TLS_KEY: [text.optional()],
  DOOR_TOKEN: [doorToken.optional()],
  DOOR_LISTENERS: [uuids.prefault('')],
  APP_HOST: [host, '127.0.0.1'],
  APP_PORTS: [portRange, '3100-3999'],
  APP_USER: [text.optional()],
  APP_UID_RANGE: [uidRange.optional()],
  APP_OUTPUT_FILE_MB: [integer(1, 10_000), '4'],
  APP_OUTPUT_FILES: [integer(2, 1000), '4'],
  APP_OUTPUT_LINES_PER_SECOND: [integer(1, 100_000), '200'],
  AGENTS_END_WITH_SERVER: [onOff, 'off'],
  SUPERVISOR_ORPHAN_HOURS: [integer(1, 8760), '24'],
  DRAIN_SECONDS: [integer(0, 86_400), '600'],
  // limits of one deployment on the process runtime's machine (docs/operations.md#bounds)
  APP_MEMORY_MB: [amount(16, 100_000_000), '2000'],
  APP_CPUS: [amount(0.05, 10_000), '2'],
  APP_PIDS: [amount(16, 4_000_000), '1024'],
  APP_FILE_MB: [amount(1, 100_000_000), '2000'],
  APP_DISK_MB: [amount(1, 100_000_000), '10000'],
  APP_DATABASE_CONNECTIONS: [amount(1, 10_000), '10'],
  APP_DATABASE_MB: [amount(10, 100_000_000), '10000'],
  APP_IDLE_MINUTES: [integer(1, 10_080), '15'],
  // limits of one deployment's requests at the door
  APP_REQUESTS: [amount(1, 1_000_000), '1000'],
  APP_REQUESTS_PER_SECOND: [amount(1, 1_000_000), '5000'],
  APP_CLIENT_REQUESTS_PER_SECOND: [amount(1, 1_000_000), '0'],
  APP_BODY_MB: [amount(1, 1_000_000), '1000'],
  APP_CONNECTION_IDLE_SECONDS: [amount(1, 86_400), '3600'],
  ...BUILD_SETTINGS,
  GIT_DIRECTORY: [folder.optional()],
  GITPROVIDER_API_URL: [url.optional()],
  GITPROVIDER_APP_ID: [
    z
      .string()
      .regex(/^\d{1,15}$/, 'must be digits')
      .optional(),
  ],
  GITPROVIDER_PRIVATE_KEY: [text.optional()],
  GITPROVIDER_WEBHOOK_SECRET: [z.string().min(8).optional()],
  GITPROVIDER_CLIENT_ID: [text.optional()],
  GITPROVIDER_CLIENT_SECRET: [text.optional()],
  STORAGE_S3_BUCKET: [text.optional()],
  STORAGE_S3_ENDPOINT: [url.optional()],
  STORAGE_S3_REGION: [text, 'us-east-1'],
  STORAGE_S3_PREFIX: [
    z.string().regex(/^([\w.-]+\/)*$/, 'must be folders, each with a slash behind it'),
    'pilothouse/',
  ],
  STORAGE_S3_ACCESS_KEY_ID: [text.optional()],
  STORAGE_S3_SECRET_ACCESS_KEY: [text.optional()],
  OUTBOUND_ALLOW: [outboundAllow.prefault('')],
  ...IMAGE_SETTINGS,
  K8S_NAMESPACE: [
    z
      .string()
      .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a Kubernetes namespace')
      .optional(),
  ],
  ...KUBERNETES_SETTINGS,
  LEASE_SECONDS: [integer(1, 600), '15'],
  PROVISION_DEADLINE_MINUTES: [minutes, '10'],
  BUILD_DEADLINE_MINUTES: [minutes, '30'],
  BUILDER_WAIT_MINUTES: [minutes, '60'],
  DEPLOY_DEADLINE_MINUTES: [minutes, '10'],
  SWEEP_SECONDS: [integer(1, 3600), '5'],
  LOG_RETENTION_DAYS: [integer(1, 3650), '14'],
  LOG_LINES_PER_REVISION: [integer(100, 10_000_000), '50000'],
  EVENT_RETENTION_DAYS: [integer(1, 3650), '90'],
  // samples of metrics: of 10 s, of a minute, of 10 minutes
  METRICS_HOURS: [integer(2, 168), '2'],
  METRICS_MINUTE_DAYS: [integer(2, 365), '3'],
  METRICS_DAYS: [integer(2, 3650), '90'],
  METRICS_DEPLOYMENTS: [z.enum(['off', 'running', 'all'], { error: 'must be off, running or all' }), 'running'],
  // limits for keys, addresses and workspaces (docs/api-rules.md#limits)
  TRUST_PROXY: [ranges.prefault('')],
  CORS_ORIGINS: [origins.prefault('')],
  RATE_LIMIT: [integer(0, 1_000_000), '500'],
  RATE_LIMIT_BURST: [integer(1, 1_000_000), '2000'],
  ADDRESS_RATE_LIMIT: [integer(0, 1_000_000), '100'],
  ADDRESS_RATE_LIMIT_BURST: [integer(1, 1_000_000), '1000'],
  REQUESTS_AT_ONCE: [integer(0, 10_000), '4'],
  HEAVY_DOCUMENTS: [integer(0, 1_000), '2'],
  STREAMS_PER_WORKSPACE: [integer(0, 1_000_000), '12000'],
  WAITS_PER_WORKSPACE: [integer(0, 1_000_000), '2000'],
  KEY_SHARE_PERCENT: [integer(1, 100), '85'],
  UPLOADS_PER_DEPLOYMENT: [integer(1, 10_000), '20'],
  REVEALS_PER_MINUTE: [integer(0, 1_000_000), '30'],
  CONNECTIONS_PER_ADDRESS: [integer(0, 1_000_000), '2000'],
  RESPONSE_CACHE_MB: [integer(0, 100_000), '32'],
  HEADER_SECONDS: [integer(1, 600), '10'],
  GRAPHIQL: [onOff, 'on'],
  INTROSPECTION: [onOff, 'on'],
} as const satisfies SettingsTable
