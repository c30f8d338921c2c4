/**
 * The dashboard (src/dashboard), as it was built: its page at `/`, `/sign-in` and below `/w/`, its files below `/assets/`. The page
 * finds by its own router what to show; what is no address of its own stays a 404 of the API.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import helmet from '@fastify/helmet'
import files from '@fastify/static'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DomainError } from '../../domain/errors/errors.ts'
import { CHECKOUT } from '../../platform/files/checkout.ts'
import { mountRootPath } from './root-path.ts'

/** Stands in the page where the nonce of the answer belongs (start/dashboard.ts). */
const NONCE = '__NONCE__'

/** Where none was built, `/` is a page that says where the APIs are. */
export async function mountDashboard(fastify: FastifyInstance): Promise<void> {
  const folder = findBuiltDashboard()
  if (folder === null) return mountRootPath(fastify, null)
  const page = fs.readFileSync(path.join(folder, 'index.html'), 'utf8')
  // in a scope of its own: other pages have other policies
  await fastify.register(async (scope) => {
    scope.setErrorHandler(toApiError)
    await scope.register(helmet, { global: false })
    await scope.register(files, {
      root: path.join(folder, 'assets'),
      prefix: '/assets/',
      preCompressed: true,
      index: false,
      decorateReply: false,
      // they are read as a whole
      acceptRanges: false,
      // their names change with what is in them
      immutable: true,
      maxAge: '365d',
    })
    const sendPage = async (reply: FastifyReply) => {
      const nonce = randomBytes(16).toString('base64')
      await reply.helmet(securityHeaders(nonce))
      reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8')
      return reply.send(page.replaceAll(NONCE, nonce))
    }
    mountRootPath(scope, sendPage)
    for (const url of ['/sign-in', '/w/*'])
      scope.get(url, { schema: { hide: true } }, (_request, reply) => sendPage(reply))
  })
}

/** What is no path of a file (`..`, a folder, a NUL) is to `@fastify/static` an error: here it is the caller's, as at any other address. */
function toApiError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500 } = error as FastifyError
  if (error instanceof DomainError || statusCode >= 500) throw error
  if (statusCode === 412) throw new DomainError('PRECONDITION_FAILED', 'The file is not the one that was asked for.')
  reply.callNotFound()
}

/** Nothing from elsewhere and nothing inline but the kit's own styles, which have the nonce. */
function securityHeaders(nonce: string) {
  const directives = {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'", `'nonce-${nonce}'`],
    'img-src': ["'self'"],
    // WebSockets, too
    'connect-src': ["'self'"],
    'form-action': ["'self'"],
    'base-uri': ["'none'"],
    'frame-ancestors': ["'none'"],
  }
  return {
    contentSecurityPolicy: { useDefaults: false, directives },
    // whether this host and those below it are reached by https alone is not ours to say
    strictTransportSecurity: false,
  } as const
}

/** Folder with index.html: beside the program where that was built, else of the newest build. Null: there is none. */
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
      // there is no build
    }
  }
  return null
}
