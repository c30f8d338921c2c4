/**
 * All settings of the server: schema, default, description. config.ts reads them. A test compares SETTINGS with the table
 * in docs/settings.md.
 */
import { z } from 'zod'
import { LOG_FORMATS } from '../log/destination.ts'
import { BOUND_SETTINGS } from './bound-settings.ts'
import { BUILD_SETTINGS } from './build-settings.ts'
import { IMAGE_SETTINGS } from './image-settings.ts'
import { KUBERNETES_SETTINGS } from './kubernetes-settings.ts'
import { LIMIT_SETTINGS } from './limit-settings.ts'
import { LOGIN_SETTINGS } from './login-settings.ts'
import {
  folder,
  host,
  integer,
  list,
  minutes,
  onOff,
  outboundAllow,
  portRange,
  type SettingsTable,
  uidRange,
  url,
} from './setting-types.ts'

const MODES = { error: 'must be cloud, self_hosted or both' }

export const SETTINGS = {
  PORT: [integer(0, 65_535), '8080', 'port of the server; 0 takes any free one'],
  HOST: [
    host,
    '127.0.0.1',
    'address the server listens on, with the same address of the other family: `127.0.0.1` and `::1`; `0.0.0.0` and `::` for all interfaces. Sockets of systemd take precedence ([A port that stays held](operations.md#a-port-that-stays-held))',
  ],
  PUBLIC_URL: [
    url.optional(),
    null,
    'public URL of the server, the base of absolute URLs. Default: `http://HOST:PORT`',
  ],
  DATABASE_URL: [
    z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional(),
    null,
    'Postgres ≥ 15. None: an embedded Postgres in `DATA_DIR`',
  ],
  DATABASE_DIRECT_URL: [
    z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional(),
    null,
    'direct URL of the same database, when `DATABASE_URL` is a connection pooler ([Poolers](operations.md#a-connection-pooler)); not needed without a pooler',
  ],
  DATABASE_POOL: [
    integer(2, 500),
    '10',
    'connections to Postgres for requests. In addition to these and `DATABASE_WORKER_POOL`, a process has at most 9: for leases, health, LISTEN and NOTIFY, its clock, provisioning',
  ],
  DATABASE_WORKER_POOL: [integer(2, 100), '5', 'connections for background work: worker, deadlines, jobs'],
  DATABASE_QUERY_SECONDS: [
    integer(1, 300),
    '8',
    'timeout of one statement of a request, and of the wait for a connection; after it the answer is a 503',
  ],
  DATABASE_WAIT_SECONDS: [
    integer(0, 86_400),
    '300',
    'longest time that a start waits for a database that restarts or is not reachable; a wrong password, database or schema ends the start immediately',
  ],
  DATA_DIR: [folder, '.data', 'embedded Postgres, key file, checkouts and artifacts'],
  CONTROL_PLANE_API_KEY: [
    z
      .string()
      .regex(/^[\x21-\x7e]{20,256}$/, 'must be 20 to 256 printable characters without spaces')
      .optional(),
    null,
    'the first admin key, used when the database is empty: 20 to 256 printable characters without spaces. None: one is generated and printed once',
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
    'key ring for secrets at rest, `id:base64` of 32 bytes, comma-separated, the first one encrypts. None: a key file in `DATA_DIR`, created at the first start',
  ],
  LOG_LEVEL: [
    z.enum(['debug', 'info', 'warn', 'error', 'silent'], { error: 'must be debug, info, warn, error or silent' }),
    'info',
    'lowest level that is logged',
  ],
  LOG_FORMAT: [
    z.enum(LOG_FORMATS, { error: `must be ${LOG_FORMATS.join(', ')}` }),
    'auto',
    'format of log lines: `json`; `pretty`, for people; `auto`: `pretty` on a terminal, otherwise `json`',
  ],
  ...LOGIN_SETTINGS,
  DEPLOYMENT_MODES: [
    list.pipe(z.array(z.enum(['cloud', 'self_hosted'], MODES)).min(1, MODES)),
    'cloud,self_hosted',
    '`cloud` offers the `gitprovider` source, `self_hosted` offers `external_container`',
  ],
  WORKER: [onOff, 'on', '`off`: this process runs no worker; revisions wait for another process’s worker'],
  RUNTIME: [
    z.enum(['process', 'kubernetes', 'none'], { error: 'must be process, kubernetes or none' }).optional(),
    null,
    'runtime of the built-in worker. `process`: on this host; `kubernetes`: in a cluster. Default: `process` with the embedded database, `none` with a `DATABASE_URL`',
  ],
  APP_HOST: [host, '127.0.0.1', 'host name in the addresses of deployments; the process runtime listens on it'],
  APP_PORTS: [portRange, '3100-3999', 'ports of the process runtime, one for each deployment'],
  APP_USER: [
    z.string().min(1).optional(),
    null,
    'account for git over ssh, with the keys in its `~/.ssh`, and for builds and agents that have none of their own, when the server runs as root. Default: `nobody`, which has no keys',
  ],
  APP_UID_RANGE: [
    uidRange.optional(),
    null,
    'user ids for deployments when the server runs as root, two for each, as `LOW-HIGH`; `off`: all share `APP_USER`. Default: `2100000000-2100009999`, or `60578-61183` in a container that has only 65,536 ids',
  ],
  APP_OUTPUT_FILE_MB: [
    integer(1, 10_000),
    '4',
    'MB of one file of an agent’s output, which is stored there until it is in the deploy log',
  ],
  APP_OUTPUT_FILES: [integer(2, 1000), '4', 'output files that are kept for each deployment; older ones are removed'],
  APP_OUTPUT_LINES_PER_SECOND: [
    integer(1, 100_000),
    '200',
    'lines of output a second of an agent, five times as many after a pause. Beyond that, the log has the latest lines and the number of omitted ones; beyond five times that rate, a few lines every two seconds. Long lines count more: the average is 320 bytes a line',
  ],
  AGENTS_END_WITH_SERVER: [
    onOff,
    'off',
    '`on`: agents of the process runtime end with their server, also after a crash. `off`: they keep serving after SIGTERM and a crash, and the next server takes them over',
  ],
  SUPERVISOR_ORPHAN_HOURS: [
    integer(1, 8760),
    '24',
    'hours for which agents of the process runtime keep running without any server; then they end',
  ],
  DRAIN_SECONDS: [
    integer(0, 86_400),
    '600',
    'longest time in seconds that a replaced agent of the process runtime has for its open requests, streams and WebSockets; after a `DELETE` at most 30. [How it ends](agents.md#how-an-agent-is-ended), and the limit of memory',
  ],
  ...BOUND_SETTINGS,
  ...BUILD_SETTINGS,
  GIT_DIRECTORY: [
    folder.optional(),
    null,
    'folder of the bare repositories of the `directory` integration. Default: `git` in `DATA_DIR`',
  ],
  GITPROVIDER_API_URL: [
    url.optional(),
    null,
    'REST API of the git hosting provider, `https://api.github.com` or `https://HOST/api/v3`; with it and the next three, integrations of the kind `app` are on',
  ],
  GITPROVIDER_APP_ID: [
    z
      .string()
      .regex(/^\d{1,15}$/, 'must be digits')
      .optional(),
    null,
    'id of the app at the provider',
  ],
  GITPROVIDER_PRIVATE_KEY: [
    z.string().min(1).optional(),
    null,
    'private key of the app: PEM (line breaks may be written `\\n`), or the path of a PEM file',
  ],
  GITPROVIDER_WEBHOOK_SECRET: [z.string().min(8).optional(), null, 'secret that signs the webhooks of the app'],
  GITPROVIDER_CLIENT_ID: [
    z.string().min(1).optional(),
    null,
    'OAuth client of the app: with it, a person who connects an installation must prove to own it. Recommended',
  ],
  GITPROVIDER_CLIENT_SECRET: [z.string().min(1).optional(), null, 'secret of that client'],
  STORAGE_S3_BUCKET: [
    z.string().min(1).optional(),
    null,
    'bucket for uploaded source tarballs. None: the folder `uploads` in `DATA_DIR`, which all servers must share',
  ],
  STORAGE_S3_ENDPOINT: [url.optional(), null, 'URL of an S3-compatible service. None: AWS'],
  STORAGE_S3_REGION: [z.string().min(1), 'us-east-1', 'region of the bucket'],
  STORAGE_S3_PREFIX: [
    z.string().regex(/^([\w.-]+\/)*$/, 'must be folders, each with a slash behind it'),
    'pilothouse/',
    'prefix of all object names',
  ],
  STORAGE_S3_ACCESS_KEY_ID: [
    z.string().min(1).optional(),
    null,
    'credentials for the bucket. None: those of the environment, as the AWS SDK finds them',
  ],
  STORAGE_S3_SECRET_ACCESS_KEY: [z.string().min(1).optional(), null, 'secret of `STORAGE_S3_ACCESS_KEY_ID`'],
  OUTBOUND_ALLOW: [
    outboundAllow.prefault(''),
    null,
    'private addresses that calls to OAuth providers and MCP servers, and git in builds, may reach, comma-separated: host names, IP addresses, ranges (`10.0.0.0/8`). None: no private, loopback or link-local address. The host of `GITPROVIDER_API_URL` is allowed for the repositories of its installations',
  ],
  ...IMAGE_SETTINGS,
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
  PROVISION_DEADLINE_MINUTES: [minutes, '10', 'deadline of provisioning, from its start'],
  BUILD_DEADLINE_MINUTES: [
    minutes,
    '30',
    'deadline of a build, from its start, including the wait for its turn (`MAX_BUILDS`)',
  ],
  BUILDER_WAIT_MINUTES: [
    minutes,
    '60',
    'longest time that a build for [builders](images.md#builders-on-machines-of-their-own) waits until one takes it',
  ],
  DEPLOY_DEADLINE_MINUTES: [minutes, '10', 'deadline of a deploy, from its start'],
  SWEEP_SECONDS: [integer(1, 3600), '5', 'how often deadlines are enforced'],
  LOG_RETENTION_DAYS: [
    integer(1, 3650),
    '14',
    'how long log lines, finished steps and details of failed rollouts are kept',
  ],
  LOG_LINES_PER_REVISION: [
    integer(100, 10_000_000),
    '50000',
    'newest lines that are kept in each of a revision’s two logs',
  ],
  EVENT_RETENTION_DAYS: [
    integer(1, 3650),
    '90',
    'how long events are kept; an older cursor gets a 422 `cursor_expired`',
  ],
  ...LIMIT_SETTINGS,
  GRAPHIQL: [onOff, 'on', 'GraphiQL at `/graphql` in a browser'],
  INTROSPECTION: [onOff, 'on', 'introspection of the GraphQL schema'],
} as const satisfies SettingsTable
