/**
 * Serves the built dashboard (src/dashboard): its page at `/`, `/sign-in`, `/connect` and below `/w/`, its files below `/assets/`. The router of
 * the page selects the view. All other paths remain a 404 of the API.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import helmet from '@fastify/helmet'
import files from '@fastify/static'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DomainError } from '../../domain/errors/errors.ts'
import { CHECKOUT, VERSION } from '../../platform/files/checkout.ts'

/** Placeholder in the built page for the nonce of the answer (start/dashboard.ts). */
const NONCE = '__NONCE__'

/** Without a build, `/` is a page with links to the APIs. `agents`: sources of CSP that are addresses of agents, which pages call. */
export async function mountDashboard(fastify: FastifyInstance, agents: readonly string[]): Promise<void> {
  const folder = findBuiltDashboard()
  if (folder === null) return mountRootPath(fastify, null)
  const page = fs.readFileSync(path.join(folder, 'index.html'), 'utf8')
  // a separate Fastify scope: other pages have other security headers
  await fastify.register(async (scope) => {
    scope.setErrorHandler(toApiError)
    await scope.register(helmet, { global: false })
    await scope.register(files, {
      root: path.join(folder, 'assets'),
      prefix: '/assets/',
      preCompressed: true,
      index: false,
      decorateReply: false,
      // clients need whole files only
      acceptRanges: false,
      // file names contain a hash of the content
      immutable: true,
      maxAge: '365d',
    })
    const sendPage = async (reply: FastifyReply) => {
      const nonce = randomBytes(16).toString('base64')
      await reply.helmet(securityHeaders(nonce, agents))
      reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8')
      return reply.send(page.replaceAll(NONCE, nonce))
    }
    mountRootPath(scope, sendPage)
    for (const url of ['/sign-in', '/connect', '/w/*'])
      scope.get(url, { schema: { hide: true } }, (_request, reply) => sendPage(reply))
  })
}

/** `@fastify/static` throws for paths such as `..`, a folder or a NUL. They answer 404, like other unknown paths. */
function toApiError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500 } = error as FastifyError
  if (error instanceof DomainError || statusCode >= 500) throw error
  if (statusCode === 412)
    throw new DomainError('PRECONDITION_FAILED', 'The file does not match the precondition of the request.')
  reply.callNotFound()
}

/** No content of other hosts, except answers of agents. Only the UI kit's inline styles are allowed, by the nonce. */
function securityHeaders(nonce: string, agents: readonly string[]) {
  const directives = {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'", `'nonce-${nonce}'`],
    'img-src': ["'self'"],
    // includes WebSockets
    'connect-src': ["'self'", ...agents],
    'form-action': ["'self'"],
    'base-uri': ["'none'"],
    'frame-ancestors': ["'none'"],
  }
  return {
    contentSecurityPolicy: { useDefaults: false, directives },
    // only the operator knows whether this host and its subdomains always use https
    strictTransportSecurity: false,
  } as const
}

/** Folder with index.html: next to the built program, else in the newest build; null if there is none. */
function findBuiltDashboard(): string | null {
  const dist = path.join(CHECKOUT, 'dist')
  const candidates = [
    () => path.join(import.meta.dirname, 'dashboard'),
    () => path.join(dist, JSON.parse(fs.readFileSync(path.join(dist, 'build.json'), 'utf8')).name, 'dashboard'),
  ]
  for (const candidate of candidates) {
    try {
      const folder = candidate()
      if (fs.existsSync(path.join(folder, 'index.html'))) return folder
    } catch {
      // no build here
    }
  }
  return null
}

const LINKS = {
  docs: ['/docs', 'documentation of the REST API'],
  openapi: ['/openapi.json', 'OpenAPI 3.1 document of the REST API'],
  graphql: ['/graphql', 'GraphQL API; GraphiQL in a browser'],
  health: ['/healthz', 'liveness: whether the process runs'],
  ready: ['/readyz', 'readiness: whether the server accepts requests'],
  metrics: ['/metrics', 'metrics for Prometheus'],
} as const

/** `sendDashboard`: null if the dashboard was not built; browsers then get a page with the links. */
function mountRootPath(
  fastify: FastifyInstance,
  sendDashboard: ((reply: FastifyReply) => Promise<unknown>) | null,
): void {
  fastify.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept')
    if (!request.headers.accept?.includes('text/html')) {
      const paths = Object.entries(LINKS).map(([name, [path]]) => [name, path])
      return { name: 'Pilothouse', version: VERSION, ...Object.fromEntries(paths) }
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
<p>The control plane for agent-server deployments, version ${VERSION}.
Calls carry an API key in the header <code>X-Api-Key</code>.</p>
<dl>${rows.join('')}</dl>
</html>
`
