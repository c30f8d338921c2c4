/**
 * The OpenAPI 3.1 document, made from the operations and the very zod schemas that the verbs parse with, and a page
 * to read it. Both are for everybody: they need no credential. The page loads nothing from elsewhere.
 */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { DomainError } from '../../domain/errors/errors.ts'
import { createDocsPages } from './docs-pages.ts'
import { addExamples } from './examples/add.ts'
import { describeLimits } from './framework/limit-headers.ts'
import { withResponseHeaders } from './responses/response-headers.ts'
import { BUILDERS_GUIDE } from './v2/builders.ts'
import { DATA_PLANE_GUIDE } from './v2/claims.ts'

/** Where the page is, and what it loads. */
const DOCS_PATH = '/docs'

/** The API description's own version (docs/api-rules.md#versions). */
export const API_VERSION = '0.1.0'

const DESCRIPTION = `Creates and manages deployments of agent servers. Send an API key in \`X-Api-Key\`; with a key
of an organization, name the workspace in \`X-Tenant-Id\`. Every answer carries \`X-Request-Id\`. Query parameters
other than those of an operation are refused (422); members of a body that it doesn't know are ignored. Each key may make so many requests a second,
and more after a rest: every answer says in \`RateLimit\` how many are left; 429 (\`RATE_LIMITED\`) in \`Retry-After\` when to try again.`

const securitySchemes = {
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'An API key.' },
  TenantId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Tenant-Id',
    description: "The workspace's id: selects it, beside a credential. Required for a key of a whole organization.",
  },
  SessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'pilothouse_…',
    description:
      'Half of a session, for browsers; the name ends with what is this installation’s own. Of use with `SessionHalf` alone.',
  },
  SessionHalf: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Session',
    description:
      'The other half, as `POST /v2/sessions` has answered it. Such a request has to come from a page of this server: `Sec-Fetch-Site: same-origin`, or its own `Origin`.',
  },
  BearerAuth: { type: 'http', scheme: 'bearer', description: 'An API key, or a JWT of the configured issuer.' },
} as const

const tags = [
  { name: 'Deployments', description: 'Agent servers, each with revisions.' },
  { name: 'Revisions', description: 'What a deployment was made of at one time: built, run, and run again.' },
  { name: 'Events', description: 'Whatever happens in the workspace, in order: as pages, and as it happens.' },
  {
    name: 'Listeners',
    description: 'Compute infrastructures, as clusters, that pull the work of the deployments that name them.',
  },
  { name: 'Data plane', description: DATA_PLANE_GUIDE },
  { name: 'Builders', description: BUILDERS_GUIDE },
  { name: 'Git integrations', description: 'Where the repositories of `gitprovider` deployments come from.' },
  {
    name: 'OAuth providers',
    description: 'Clients of the organization at third parties, where agents’ tokens of people’s accounts come from.',
  },
  {
    name: 'OAuth tokens',
    description:
      'A person’s consent at a provider, and the agents that may use it. Seen by nobody but the subject of the credential: the `sub` of a JWT, or the key.',
  },
  { name: 'Workspaces', description: 'The tenants of an organization: everything else belongs to one.' },
  { name: 'Sessions', description: 'Of people in browsers: made with an API key or a code, in two halves.' },
  { name: 'Agents', description: 'What an agent calls itself, with a key of the role `agent` that is its own.' },
]

const zodToJsonConfig = {
  override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
    // for GraphQL alone
    delete jsonSchema.typeName
    // objects may gain members: answers are not closed to them
    if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    // zod says in a pattern what the format says already
    if (jsonSchema.format) delete jsonSchema.pattern
  },
}

interface Document {
  paths?: unknown
  components?: { schemas?: Record<string, unknown> }
}

/** Keeps the component schemas that the paths refer to, sorted by name: zod's registry has every schema as input and as output. */
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
        version: API_VERSION,
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
  // loaded for the first who looks: most starts never see one
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
      // whether the connection stays is not for it to say
      delete headers.connection
      return reply.code(statusCode).headers(headers).send(rawPayload)
    })
}
// @fastify/swagger must collect the routes of the plugin that registers this, not of a scope of its own
Object.assign(documentation, { [Symbol.for('skip-override')]: true })
