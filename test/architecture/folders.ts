/**
 * The table of allowed imports: each folder of `src` once, below the folders that it may import. A subfolder is a folder
 * with a separate row. `npm run check` applies it (rules.ts).
 */
/**
 * `folders`: folders that don't import each other. `imports`: patterns of what they may import (`*` one name, `**` any depth,
 * or one file). A pattern only reaches rows above, so the table has no cycles and "domain/**" means the domain rows above.
 */
export type Row = readonly [folders: string, imports: string]

/** Folders without knowledge of deployments: errors, parsing, paging, encryption, SQL. */
const BASE = 'domain/errors domain/crypto domain/parsing domain/paging'
/** Folders that every verb of the domain may import. */
const GROUND = `${BASE} domain/values domain/ports domain/outbox domain/concurrency domain/transaction domain/repositories domain/change-feed domain/query-engine platform/async platform/log platform/tracing platform/http/outbound-failure.ts`
/** The parts of the control plane that a data plane may import. */
const CONTRACT =
  'domain/protocol domain/errors/errors.ts domain/values/agent-host.ts domain/values/health-path.ts domain/values/metrics.ts domain/values/image-reference.ts domain/values/repository-url.ts'
/** Imports of the runtime whose agents are processes of this machine. */
const PROCESSES = `${CONTRACT} dataplane/build dataplane/build/plan dataplane/builder dataplane/output dataplane/runtimes dataplane/process/* platform/async platform/files platform/programs platform/postgres/embedded platform/postgres/pg-client.ts`
const SUPERVISOR = 'dataplane/process/supervisor dataplane/process/supervisor/*'
/** Imports of the runtime whose agents are objects of a cluster. */
const CLUSTERS = `${CONTRACT} dataplane/output dataplane/runtimes dataplane/kubernetes/* platform/async platform/http platform/tracing`

export const FOLDERS: readonly Row[] = [
  // the platform: code for any server, without knowledge of agents
  ['platform/log', ''],
  ['platform/async', 'platform/log'],
  ['platform/http', 'platform/async'],
  ['platform/programs platform/files', ''],
  ['platform/config', 'platform/log platform/files'],
  ['platform/tracing', 'platform/files'],
  ['platform/postgres', 'platform/log platform/async platform/files'],
  [
    'platform/postgres/embedded',
    'platform/log platform/async platform/programs platform/files platform/postgres/single-connection.ts platform/postgres/pg-client.ts',
  ],

  // the domain, lowest layer first
  ['domain/errors domain/crypto', ''],
  ['domain/parsing', 'domain/errors'],
  ['domain/paging', 'domain/errors domain/parsing'],
  ['domain/values', BASE],
  ['domain/ports domain/protocol', `${BASE} domain/values platform/http/outbound-failure.ts`],
  ['domain/outbox', `${BASE} domain/values platform/async platform/log`],
  ['domain/concurrency', BASE],
  ['domain/transaction', GROUND],
  ['domain/repositories', GROUND],
  ['domain/change-feed', GROUND],
  // SQL statements that are compiled once per selection and planned once
  ['domain/query-engine', `${BASE} domain/concurrency domain/transaction domain/change-feed`],
  // subjects of the domain: they import the layers above, and another subject only where its row says so
  ['domain/keys domain/secrets domain/deployment-status domain/events', GROUND],
  ['domain/revisions', `${GROUND} domain/secrets`],
  ['domain/idempotency', `${GROUND} domain/secrets`],
  ['domain/sessions domain/logins', `${GROUND} domain/keys`],
  ['domain/listeners', `${GROUND} domain/keys domain/deployment-status`],
  ['domain/logs', `${GROUND} domain/protocol domain/revisions`],
  ['domain/metrics', `${GROUND} domain/protocol domain/revisions`],
  ['domain/sources domain/sources/integrations', GROUND],
  ['domain/rollouts', `${GROUND} domain/revisions domain/deployment-status domain/sources`],
  ['domain/sources/webhooks', `${GROUND} domain/rollouts`],
  [
    'domain/claims',
    `${GROUND} domain/protocol domain/keys domain/logs domain/metrics domain/revisions domain/rollouts domain/secrets`,
  ],
  [
    'domain/builders',
    `${GROUND} domain/protocol domain/keys domain/logs domain/revisions domain/rollouts domain/claims`,
  ],
  [
    'domain/deployments',
    `${GROUND} domain/revisions domain/rollouts domain/secrets domain/sources domain/sources/* domain/deployment-status`,
  ],
  ['domain/alerts', `${GROUND} domain/deployment-status`],
  ['domain/webhooks', `${GROUND} domain/events`],
  ['domain/oauth/tokens', `${GROUND} domain/keys`],
  ['domain/oauth/providers', `${GROUND} domain/oauth/tokens`],
  ['domain/oauth/authorizations', `${GROUND} domain/oauth/*`],
  // workspaces, tags, resources of any type by id, and retention
  ['domain', 'domain/**'],

  // external systems, behind the domain's ports
  [
    'adapters adapters/git-provider adapters/oauth adapters/storage',
    `domain/ports ${BASE} domain/values domain/sources/uploads.ts platform/*`,
  ],

  // the data plane: it knows only the protocol of the control plane
  ['dataplane/runtimes', `${CONTRACT} platform/async platform/postgres/pg-client.ts platform/tracing`],
  ['dataplane/output', `${CONTRACT} dataplane/runtimes`],
  // the build plan, derived from the files of a source
  ['dataplane/build/plan', `${CONTRACT} dataplane/output`],
  ['dataplane/build', `${CONTRACT} dataplane/output dataplane/build/plan platform/http/outbound-address.ts`],
  ['dataplane/worker', `${CONTRACT} dataplane/runtimes dataplane/output platform/async platform/log platform/tracing`],
  ['dataplane/process/processes', PROCESSES],
  // accounts, confinement, limits and databases: what keeps deployments of one machine apart
  ['dataplane/process/isolation', PROCESSES],
  ['dataplane/process/engine', PROCESSES],
  // builds images with this machine's container engine, for both runtimes
  ['dataplane/builder', PROCESSES],
  // the keepers' and servers' side of the door
  ['dataplane/process/door', `${PROCESSES} domain/values/access-copy.ts domain/values/door-figures.ts`],
  ['dataplane/process/machine', PROCESSES],
  ['dataplane/process/artifacts', PROCESSES],
  // a separate program, bundled into one file: it serves agents while no server runs
  ['dataplane/process/supervisor', PROCESSES],
  ['dataplane/process/supervisor/agent', `${PROCESSES} ${SUPERVISOR}`],
  ['dataplane/process/supervisor/keeper', `${PROCESSES} ${SUPERVISOR}`],
  ['dataplane/process/supervisor-client', PROCESSES],
  ['dataplane/process', `${PROCESSES} domain/values/door-figures.ts`],
  // a separate program, bundled into one file: it listens on the addresses of all deployments
  [
    'door',
    'domain/values/access-copy.ts domain/values/agent-host.ts domain/values/door-figures.ts domain/values/latency-histogram.ts dataplane/process/door dataplane/process/processes platform/async platform/files platform/http platform/log platform/tracing/tracing.ts',
  ],
  ['dataplane/kubernetes/objects', CLUSTERS],
  ['dataplane/kubernetes/api-server dataplane/kubernetes/render', CLUSTERS],
  ['dataplane/kubernetes/informers', CLUSTERS],
  ['dataplane/kubernetes/cluster', CLUSTERS],
  ['dataplane/kubernetes/reconcile', CLUSTERS],
  ['dataplane/kubernetes/rollout', CLUSTERS],
  ['dataplane/kubernetes/deployment', CLUSTERS],
  // the worker as a program inside a cluster
  [
    'listener',
    `${CONTRACT} domain/parsing/codec.ts dataplane/worker dataplane/output dataplane/runtimes dataplane/kubernetes/** platform/*`,
  ],
  // the worker as a program that only builds
  [
    'builder',
    `${CONTRACT} domain/errors/reasons.ts domain/parsing/codec.ts dataplane/worker dataplane/output dataplane/runtimes dataplane/build dataplane/builder listener platform/*`,
  ],

  // the transports: they import the domain, but not each other, adapters or data planes
  [
    'api/limits',
    `${BASE} domain/concurrency domain/transaction domain/keys platform/async platform/http/client-address.ts platform/tracing`,
  ],
  [
    'api/auth',
    `${BASE} domain/values domain/concurrency domain/transaction domain/keys domain/sessions api/limits platform/async platform/log platform/tracing`,
  ],
  [
    'api/realtime',
    `${BASE} domain/values domain/outbox domain/concurrency domain/transaction domain/change-feed domain/events domain/logs domain/metrics platform/async platform/log platform/postgres`,
  ],
  // what both transports answer with: streams and cached answers
  ['api/responses', 'domain/concurrency domain/transaction domain/change-feed api/realtime'],
  ['api/graphql/builder', 'domain/** api/realtime platform/async platform/log'],
  ['api/graphql/types', 'domain/** api/realtime api/graphql/builder platform/async platform/files/checkout.ts'],
  ['api/graphql/compiled-queries', 'domain/** api/graphql/builder'],
  [
    'api/graphql/fast-path',
    `${BASE} domain/concurrency domain/transaction api/auth api/limits api/realtime api/responses api/graphql/builder api/graphql/compiled-queries`,
  ],
  [
    'api/graphql/websocket',
    `${BASE} domain/concurrency domain/transaction api/auth api/limits api/realtime api/graphql/builder platform/async platform/http/client-address.ts platform/log platform/tracing`,
  ],
  [
    'api/graphql',
    `${BASE} domain/concurrency domain/transaction domain/idempotency api/auth api/limits api/realtime api/responses api/graphql/* platform/async platform/files platform/log`,
  ],
  ['api/rest/responses', 'domain/**'],
  ['api/rest/examples', `${BASE} domain/protocol`],
  [
    'api/rest/framework',
    `${BASE} domain/concurrency domain/transaction domain/change-feed domain/idempotency api/auth api/limits api/realtime api/responses api/rest/responses platform/log`,
  ],
  [
    'api/rest/v1 api/rest/v2',
    'domain/** api/auth api/limits api/realtime api/rest/responses api/rest/framework platform/log platform/files/checkout.ts',
  ],
  [
    'api/rest',
    `${BASE} domain/concurrency domain/transaction domain/keys domain/logins domain/sessions api/auth api/limits api/realtime api/responses api/rest/* platform/files`,
  ],
  [
    'api/server',
    `${BASE} domain/values/door-figures.ts domain/concurrency domain/outbox domain/claims api/rest api/rest/framework platform/async platform/files platform/http platform/postgres platform/tracing`,
  ],

  // the client for other programs: it knows only types generated from the OpenAPI document
  ['client', ''],

  // the dashboard: a browser program that knows only the server's GraphQL API. Pages don't import each other
  ['dashboard/api', ''],
  ['dashboard/components', 'dashboard/api'],
  ['dashboard/components/upload', 'dashboard/api'],
  ['dashboard/components/try-it', 'dashboard/api dashboard/components'],
  ['dashboard/components/metrics', 'dashboard/api dashboard/components'],
  ['dashboard/pages/*', 'dashboard/api dashboard/components dashboard/components/*'],
  ['dashboard/app', 'dashboard/**'],

  // the composition of all parts, and the programs that people start
  [
    'app/backup',
    'platform/** domain/concurrency domain/transaction domain/sessions dataplane/process/machine dataplane/process/isolation dataplane/process/processes',
  ],
  ['app', 'app/backup platform/** domain/** adapters/** dataplane/** listener door api/**'],
  ['cli/terminal', ''],
  // commands that use the server only through the client
  ['cli/remote/frame cli/remote/deploy', 'client cli/terminal'],
  ['cli/remote/commands', 'client cli/terminal cli/remote/frame cli/remote/deploy'],
  ['cli/remote', 'client cli/terminal cli/remote/*'],
  // commands of the server's machine
  ['cli/server', 'cli/terminal platform/** domain/** app app/backup dataplane/process/machine/ports.ts'],
  ['.', 'platform/config app'],
  ['cli', 'cli/terminal cli/remote cli/server client platform/** domain/** listener builder app app/backup main.ts'],
  // the build
  [
    'start',
    'platform/files platform/postgres/prisma-compiler.ts dataplane/process/machine domain/errors domain/parsing domain/deployments/source-rules.ts api/graphql api/graphql/builder api/rest api/rest/framework',
  ],
]

/**
 * The budget of each subsystem: lines of TypeScript and CSS written by hand, blank lines and comments included. `npm run check`
 * prints the subsystems that are larger. Raise a number only with what the lines pay for (docs/architecture.md#rules).
 */
export const BUDGETS: readonly (readonly [folders: string, lines: number])[] = [
  ['platform/**', 5_475],
  [
    'domain/errors domain/crypto domain/parsing domain/paging domain/values domain/ports domain/protocol domain/query-engine',
    4_450,
  ],
  [
    'domain/outbox domain/concurrency domain/transaction domain/repositories domain/change-feed domain/idempotency',
    3_390,
  ],
  ['domain/deployments domain/deployment-status domain/revisions domain/rollouts domain/secrets', 4_870],
  ['domain/claims domain/builders domain/listeners domain/logs domain/events', 4_270],
  ['domain/metrics', 630],
  ['domain/sources/**', 1_350],
  ['domain/oauth/**', 2_400],
  // rules on states and series, evaluated by one statement per kind (docs/alerts.md)
  ['domain/alerts', 500],
  // delivery of events: at least once and in order, with retries (docs/webhooks.md)
  ['domain/webhooks', 900],
  ['domain domain/keys domain/sessions domain/logins domain/retention', 2_380],
  ['adapters/**', 2_235],
  ['dataplane/runtimes dataplane/worker dataplane/output dataplane/build/** dataplane/builder/**', 5_755],
  ['dataplane/process/** door', 13_745],
  ['dataplane/kubernetes/**', 6_845],
  ['listener builder', 1_500],
  ['api/graphql/**', 7_455],
  ['api/rest/**', 5_840],
  ['api/auth api/limits api/realtime api/responses api/server/**', 4_800],
  ['client cli/**', 5_390],
  ['dashboard/pages/*', 13_085],
  ['dashboard/app dashboard/api dashboard/components/**', 6_220],
  ['app/** start .', 3_200],
]

/** Folders with SQL: the domain, the platform, runtimes, which create and read databases of agents, and default queries. */
export const SQL = 'domain/** platform/postgres/** platform/config dataplane/runtimes dataplane/process/isolation'
/** Folders that import code generated from prisma/schema.prisma. GraphQL's builder needs the types for Pothos. */
export const GENERATED = 'domain/** platform/postgres api/graphql/builder'

/** Packages that only certain folders may import. Other folders use those folders' functions. */
export const PACKAGES: readonly (readonly [packages: string, folders: string])[] = [
  ['@prisma/* prisma', 'platform/postgres'],
  ['pg', 'platform/postgres/** dataplane/process/isolation'],
  ['graphql-yoga @pothos/*', 'api/graphql/**'],
  ['graphql', 'api/graphql/** start'],
  ['ws', 'api/graphql/websocket'],
  ['graphql-ws', 'api/graphql/websocket dashboard/api'],
  ['gql.tada', 'start dashboard/**'],
  ['react react-dom @mantine/* @tabler/* @tanstack/* urql @urql/* wonka uplot diff', 'dashboard/**'],
  ['anser', 'dashboard/pages/revision dataplane/output'],
  ['vite', 'start'],
  ['fastify @fastify/*', 'api/** app start'],
  [
    'zod',
    'platform/config domain/** dataplane/build/plan api/** adapters/** listener app/backup cli cli/server cli/remote/deploy',
  ],
  ['smol-toml', 'dataplane/build/plan'],
  ['yaml', 'listener cli/remote/**'],
  ['@kubernetes/*', 'dataplane/kubernetes/** listener cli'],
  ['@octokit/*', 'adapters/git-provider'],
  ['oauth4webapi openid-client', 'adapters/oauth'],
  ['@aws-sdk/*', 'adapters/storage'],
  ['standardwebhooks', 'adapters'],
  ['undici', 'platform/http'],
  ['@opentelemetry/*', 'platform/tracing'],
  ['esbuild', 'dataplane/process/machine start'],
  ['openapi-typescript', 'start'],
  ['openapi-fetch', 'client'],
  ['eventsource-parser', 'client dashboard/components/try-it'],
  ['commander @commander-js/* @bomb.sh/*', 'cli/**'],
]

/** Folders that may use `process.env`: the settings, OpenTelemetry, whose SDK reads it, and programs that people start. */
export const ENVIRONMENT = 'platform/config platform/tracing cli cli/server cli/terminal start .'
