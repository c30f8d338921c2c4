/** The REST API as a Fastify plugin: the routes of v1 and v2, the error handler, and the OpenAPI document. See README.md. */
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { DomainError } from '../../domain/errors/errors.ts'
import { callerKeySet } from '../../domain/keys/access-copy.ts'
import type { Core } from '../../domain/transaction/context.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import type { SignIn } from '../auth/sign-in.ts'
import type { Relay } from '../realtime/relay.ts'
import type { Heartbeat } from '../responses/heartbeat.ts'
import type { ResponseCache } from '../responses/response-cache.ts'
import { documentation } from './document.ts'
import { readBodies } from './framework/body.ts'
import { errorHandler } from './framework/errors.ts'
import { toRoute } from './framework/operation.ts'
import { loginRoutes } from './login.ts'
import { oidcRoutes } from './oidc-login.ts'
import { operations } from './operations.ts'
import { documentedErrors, jsonContent } from './responses/errors.ts'
import { signInRoutes } from './sign-in.ts'
import { installationCallback } from './v1/installation-callback.ts'
import { registryTokenRoute } from './v1/registry-token.ts'
import { uploads } from './v1/uploads.ts'
import { webhook } from './v1/webhook.ts'
import { builderTarball } from './v2/builders.ts'
import { oauthCallback } from './v2/oauth-callback.ts'

export interface RestOptions {
  core: Core
  authenticate: Authenticate
  relay: Relay
  heartbeat: Heartbeat
  responseCache: ResponseCache
  signIn: SignIn
  /** URL of this server for clients. Called for each request, because the port may be known only when the server listens. */
  publicUrl: () => string
}

export const restPlugin: FastifyPluginAsync<RestOptions> = async (fastify, options) => {
  const { core, authenticate, relay, heartbeat, responseCache, signIn, publicUrl } = options
  const streaming = { relay, heartbeat }
  // Verbs validate, and response schemas are type-checked. Fastify uses the schemas only for the document.
  fastify.setValidatorCompiler(() => (value) => ({ value }))
  fastify.setSerializerCompiler(() => (body) => JSON.stringify(body))
  fastify.setErrorHandler(errorHandler(core.log))
  readBodies(fastify)
  fastify.decorateRequest('caller', null)
  fastify.decorateRequest('requestScope', null)
  await fastify.register(documentation, { publicUrl })
  for (const operation of operations) {
    fastify.route(toRoute(operation, authenticate, { streaming, responseCache }))
  }
  builderTarball(fastify, authenticate)
  loginRoutes(fastify, core)
  keySetRoute(fastify, core)
  signInRoutes(fastify, { signIn, oidcName: core.login?.name ?? null })
  await fastify.register(oidcRoutes, { core, cookieName: signIn.cookieName })
  if (core.tarballs.receive) await fastify.register(uploads, { core })
  installationCallback(fastify, core)
  movedRoutes(fastify)
  registryTokenRoute(fastify, core)
  await fastify.register(webhook, { core })
  await fastify.register(oauthCallback, { core })
}

function movedRoutes(fastify: FastifyInstance): void {
  fastify.post(
    '/v2/auth/agents/:agent_id/providers/:provider_id/tokens',
    {
      schema: { hide: true },
      config: { keyless: 'always' },
      onRequest: async (request) => {
        const path = request.url.split('?')[0]!.replace(/tokens$/, 'access-token')
        throw new DomainError('GONE', `This operation has moved: call POST ${path}.`)
      },
    },
    () => undefined,
  )
}

const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) }).meta({ id: 'KeySet' })

/** The public keys of the tokens that agents get with each request. Agents and their libraries read them without a credential. */
function keySetRoute(fastify: FastifyInstance, core: Core): void {
  fastify.get('/.well-known/jwks.json', {
    config: { keyless: 'always' },
    exposeHeadRoute: false,
    schema: {
      operationId: 'getCallerKeys',
      summary: 'Get the public keys of X-Pilothouse-Caller',
      description:
        'Needs no credential. A JSON Web Key Set (RFC 7517). An agent verifies the JWT in `X-Pilothouse-Caller` with it. Clients may cache it for five minutes.',
      tags: ['Agents'],
      security: [],
      response: { 200: jsonContent('The keys.', keySet), ...documentedErrors(429, 500, 503) },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return callerKeySet(core)
    },
  })
}
