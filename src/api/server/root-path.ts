/** `/`: the dashboard for browsers; for other clients a JSON object with links. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { API_VERSION } from '../rest/document.ts'

const LINKS = {
  docs: ['/docs', 'documentation of the REST API'],
  openapi: ['/openapi.json', 'OpenAPI 3.1 document of the REST API'],
  graphql: ['/graphql', 'GraphQL API; GraphiQL in a browser'],
  health: ['/healthz', 'liveness: whether the process runs'],
  ready: ['/readyz', 'readiness: whether the server accepts requests'],
  metrics: ['/metrics', 'metrics for Prometheus'],
} as const

/** `sendDashboard`: null if the dashboard was not built; browsers then get a page with the links. */
export function mountRootPath(
  fastify: FastifyInstance,
  sendDashboard: ((reply: FastifyReply) => Promise<unknown>) | null,
): void {
  fastify.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept')
    if (!request.headers.accept?.includes('text/html')) {
      const paths = Object.entries(LINKS).map(([name, [path]]) => [name, path])
      return { name: 'Pilothouse', version: API_VERSION, ...Object.fromEntries(paths) }
    }
    if (sendDashboard) return sendDashboard(reply)
    reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
    return reply.type('text/html; charset=utf-8').send(PAGE)
  })
}

const rows = Object.values(LINKS).map(([path, what]) => `<dt><a href="${path}">${path}</a></dt><dd>${what}</dd>`)

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Pilothouse</title>
<style>
  :root { color-scheme: light dark }
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.5rem }
  dd { margin: 0 }
</style>
<h1>Pilothouse</h1>
<p>The control plane for agent-server deployments, version ${API_VERSION}.
Calls carry an API key in the header <code>X-Api-Key</code>.</p>
<dl>${rows.join('')}</dl>
</html>
`
