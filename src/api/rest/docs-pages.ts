/** The pages at /docs, as a server of their own without a port: what they are made with takes a tenth of a start to load. */
import fastify, { type FastifyInstance } from 'fastify'

/** `document`: the OpenAPI document, asked for at each request. */
export async function createDocsPages(prefix: string, document: () => object): Promise<FastifyInstance> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  const pages = fastify()
  // all that it asks of @fastify/swagger
  const swagger = Object.assign(async () => undefined, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('plugin-meta')]: { name: '@fastify/swagger' },
  })
  await pages.register(swagger)
  pages.decorate('swagger', document as FastifyInstance['swagger'])
  await pages.register(swaggerUi, {
    routePrefix: prefix,
    // no call to the validator that Swagger UI uses by default
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
