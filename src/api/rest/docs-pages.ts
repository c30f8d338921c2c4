/** The pages at /docs, as a Fastify instance without a port. document.ts loads it at the first request. */
import fastify, { type FastifyInstance } from 'fastify'

/** `document` returns the OpenAPI document and is called for each request. */
export async function createDocsPages(prefix: string, document: () => object): Promise<FastifyInstance> {
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
