/**
 * Collects all routes. An unknown path answers 404; a known path with another method answers 405 with `Allow`
 * (docs/api-rules.md#errors), even for methods that Node does not know.
 */
import type { FastifyInstance } from 'fastify'
import { DomainError } from '../../domain/errors/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** for a route that refuses some of its methods itself: the methods that it allows */
    allowedMethods?: readonly string[]
  }
}

export interface RouteError {
  error: DomainError
  /** value of the `Allow` header; null: the path is unknown */
  allow: string | null
}

interface KnownPath {
  pattern: RegExp
  allowed: Set<string>
  /** all methods of its routes, including methods that they refuse */
  handled: Set<string>
}

export interface KnownRoutes {
  /** Whether a path equals a route's path literally and the method is missing. It must not match a parameter of another route. */
  lacksMethod(method: string, target: string): boolean
  /** `target`: request target, with or without a query */
  errorFor(method: string, target: string): RouteError
}

/** Collects the routes that are added after this call. */
export function knownRoutes(fastify: FastifyInstance): KnownRoutes {
  /** by Fastify's path pattern */
  const paths = new Map<string, KnownPath>()
  fastify.addHook('onRoute', ({ url, method, config }) => {
    const known = paths.get(url) ?? { pattern: patternOf(url), allowed: new Set(), handled: new Set() }
    paths.set(url, known)
    for (const one of [method].flat()) known.handled.add(one)
    for (const one of config?.allowedMethods ?? [method].flat()) known.allowed.add(one)
  })
  return {
    lacksMethod(method, target) {
      const query = target.indexOf('?')
      const exact = paths.get(query === -1 ? target : target.slice(0, query))
      return exact !== undefined && !exact.handled.has(method)
    },
    errorFor(method, target) {
      const path = target.split('?')[0]!
      const own = paths.get(path)
      const found = own ? [own] : [...paths.values()].filter(({ pattern }) => pattern.test(path))
      const methods = new Set(found.flatMap((one) => [...one.allowed]))
      const allow = [...methods].sort().join(', ')
      // a route of this method called callNotFound()
      if (methods.has(method) || methods.size === 0)
        return { error: new DomainError('NOT_FOUND', `There is nothing at ${method} ${path}.`), allow: null }
      return { error: new DomainError('METHOD_NOT_ALLOWED', `${method} is not allowed here; use ${allow}.`), allow }
    },
  }
}

/** `/v2/deployments/:deployment_id`, `/v1/uploads/*` */
function patternOf(url: string): RegExp {
  const source = url
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*/g, '.*')
  return new RegExp(`^${source}$`)
}
