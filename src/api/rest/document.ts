/**
 * The OpenAPI 3.1 document at /openapi.json and its page at /docs. It is made from the operations and from the zod schemas that
 * the verbs parse with. Both need no credential. The page loads nothing from other hosts.
 */
import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { DomainError } from '../../domain/errors/errors.ts'
import { VERSION } from '../../platform/files/checkout.ts'
import { addExamples } from './examples/add.ts'
import { describeLimits } from './framework/limit-headers.ts'
import { withResponseHeaders } from './responses/response-schema.ts'
import { BUILDERS_GUIDE } from './v2/builders.ts'
import { DATA_PLANE_GUIDE } from './v2/claims.ts'

const DOCS_PATH = '/docs'

const DESCRIPTION = `Creates and manages deployments of agent servers. Send an API key in \`X-Api-Key\`. With a key
of an organization, name the workspace in \`X-Tenant-Id\`. Every answer has an \`X-Request-Id\`. Unknown query parameters
are refused (422). Unknown members of a body are ignored. Each key has a request rate and a burst (see \`RateLimit\`).
A call beyond them is answered 429 (\`RATE_LIMITED\`); \`Retry-After\` says when to try again.`

const securitySchemes = {
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'An API key.' },
  TenantId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Tenant-Id',
    description:
      'The id of the workspace. Send it together with a credential. Required for a key of a whole organization.',
  },
  SessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'pilothouse_…',
    description:
      'One half of a session, for browsers. The end of the name is specific to the installation. Valid only together with `SessionHalf`.',
  },
  SessionHalf: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Session',
    description:
      'The other half of a session, from the answer to `POST /v2/sessions`. The request must come from a page of this server: with `Sec-Fetch-Site: same-origin`, or with this server as its `Origin`.',
  },
  LoginSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Login-Secret',
    description: 'The secret of a login, from the answer to `POST /v2/logins`. It is only good for this login.',
  },
  BearerAuth: { type: 'http', scheme: 'bearer', description: 'An API key, or a JWT of the configured issuer.' },
} as const

const tags = [
  { name: 'Deployments', description: 'Agent servers. Each has revisions.' },
  {
    name: 'Revisions',
    description: 'The versions of a deployment. A revision is built and run, and can be redeployed.',
  },
  {
    name: 'Events',
    description: 'The log of all changes in the workspace, in order. Read it in pages or as a stream.',
  },
  {
    name: 'Listeners',
    description: 'Compute infrastructures, such as clusters, that pull the work of their deployments.',
  },
  { name: 'Data plane', description: DATA_PLANE_GUIDE },
  { name: 'Builders', description: BUILDERS_GUIDE },
  {
    name: 'Git integrations',
    description:
      'Installations at the git provider. They give access to the repositories of `gitprovider` deployments.',
  },
  {
    name: 'OAuth providers',
    description:
      'OAuth clients of the organization at third parties. Agents get tokens for people’s accounts from them.',
  },
  {
    name: 'OAuth tokens',
    description:
      'A person’s consent at a provider, and the agents that may use it. Only its owner can see it: the `sub` of a JWT, or a key.',
  },
  {
    name: 'API keys',
    description: 'Credentials of a workspace or of the whole organization. The text of a key is shown once.',
  },
  {
    name: 'Workspaces',
    description:
      'The tenants of an organization. Every other resource belongs to one workspace or to the organization.',
  },
  {
    name: 'Sessions',
    description: 'Sessions of people in browsers. A session is opened with an API key or a code and has two halves.',
  },
  {
    name: 'Logins',
    description: 'Logins of the command line on a machine. A person approves a login in the dashboard.',
  },
  { name: 'Agents', description: 'Calls of an agent, with its key of the role `agent`.' },
]

const zodToJsonConfig = {
  override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
    // only used by GraphQL
    delete jsonSchema.typeName
    // answers may gain members
    if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    // zod repeats the format as a pattern
    if (jsonSchema.format) delete jsonSchema.pattern
  },
}

interface Document {
  paths?: unknown
  components?: { schemas?: Record<string, unknown> }
}

/** Keeps only component schemas that the paths use, sorted by name. zod's registry has each schema as input and as output. */
function dropUnusedSchemas<D extends Document>(document: D): D {
  const all = document.components?.schemas ?? {}
  const kept = new Set<string>()
  const visit = (part: unknown): void => {
    for (const [, name] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (kept.has(name!)) continue
      kept.add(name!)
      visit(all[name!])
    }
  }
  visit(document.paths)
  const schemas = Object.fromEntries([...kept].sort().map((name) => [name, all[name]]))
  return { ...document, components: { ...document.components, schemas } }
}

/** Registers the collector of routes, /openapi.json and /docs. Register the operations after it. */
export async function documentation(
  fastify: FastifyInstance,
  { publicUrl }: { publicUrl: () => string },
): Promise<void> {
  const components = createJsonSchemaTransformObject({ zodToJsonConfig })
  await fastify.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Pilothouse',
        version: VERSION,
        description: DESCRIPTION,
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      },
      tags,
      components: { securitySchemes },
      security: [
        { ApiKey: [] },
        { ApiKey: [], TenantId: [] },
        { BearerAuth: [] },
        { BearerAuth: [], TenantId: [] },
        { SessionCookie: [], SessionHalf: [] },
        { SessionCookie: [], SessionHalf: [], TenantId: [] },
      ],
    },
    transform: withResponseHeaders(createJsonSchemaTransform({ zodToJsonConfig })),
    transformObject: (found) => addExamples(describeLimits(dropUnusedSchemas(components(found)))),
  })
  const current = () => ({ ...fastify.swagger(), servers: [{ url: publicUrl() }] })
  fastify.get('/openapi.json', { schema: { hide: true }, config: { keyless: 'always' } }, async () => current())
  // loaded at the first request: it takes a tenth of the start-up time, and most servers never need it
  let pages: Promise<FastifyInstance> | null = null
  for (const url of [DOCS_PATH, `${DOCS_PATH}/*`])
    fastify.get(url, { schema: { hide: true }, config: { keyless: 'always' } }, async (request, reply) => {
      pages ??= createDocsPages(DOCS_PATH, current)
      const made = await pages.catch((error) => {
        pages = null
        throw error
      })
      const { statusCode, headers, rawPayload } = await made.inject({
        method: request.method as 'GET' | 'HEAD',
        url: request.url,
        headers: request.headers,
      })
      if (statusCode === 404) throw new DomainError('NOT_FOUND', 'There is no such page.')
      // the outer server decides whether the connection stays open
      delete headers.connection
      return reply.code(statusCode).headers(headers).send(rawPayload)
    })
}
// @fastify/swagger must collect the routes of the registering plugin, so this plugin must not open a Fastify scope
Object.assign(documentation, { [Symbol.for('skip-override')]: true })

/** `document` returns the OpenAPI document and is called for each request. */
async function createDocsPages(prefix: string, document: () => object): Promise<FastifyInstance> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  const pages = fastify()
  // the only parts of @fastify/swagger that swagger-ui uses
  const swagger = Object.assign(async () => undefined, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('plugin-meta')]: { name: '@fastify/swagger' },
  })
  await pages.register(swagger)
  pages.decorate('swagger', document as FastifyInstance['swagger'])
  await pages.register(swaggerUi, {
    routePrefix: prefix,
    // null: no call to the public validator of Swagger UI
    uiConfig: { deepLinking: true, layout: 'BaseLayout', validatorUrl: null },
    staticCSP: {
      'default-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'style-src': ["'self'", "'unsafe-inline'"],
      'frame-ancestors': ["'none'"],
    },
    theme: { title: 'Pilothouse API' },
  })
  await pages.ready()
  return pages
}
