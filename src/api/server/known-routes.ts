/**
 * What no route takes: nothing at this path is 404; a path that exists, called with a method that it does not have, is
 * 405 with `Allow` (docs/api-rules.md#errors), be that method known to anybody or not. The routes themselves say what there is.
 */
import type { FastifyInstance, RouteOptions } from 'fastify'
import { DomainError } from '../../domain/errors/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** of a route that takes more methods than it allows, to refuse them itself: those that it allows */
    allowedMethods?: readonly string[]
  }
}

export interface RouteError {
  error: DomainError
  /** the methods that the path has; null: there is nothing at this path */
  allow: string | null
}

interface KnownPath {
  pattern: RegExp
  /** what it allows */
  allowed: Set<string>
  /** what its routes take, be it to refuse it */
  handled: Set<string>
}

export class KnownRoutes {
  /** by pattern, as Fastify writes it */
  readonly #methods = new Map<string, KnownPath>()

  /** Has to be called with every route, as Fastify's `onRoute`. */
  add({ url, method, config }: Pick<RouteOptions, 'url' | 'method' | 'config'>): void {
    const known = this.#methods.get(url) ?? { pattern: patternOf(url), allowed: new Set(), handled: new Set() }
    this.#methods.set(url, known)
    for (const one of [method].flat()) known.handled.add(one)
    for (const one of config?.allowedMethods ?? [method].flat()) known.allowed.add(one)
  }

  /** Whether a path that is a route's own, to the letter, lacks the method: it is no parameter of another route then. */
  lacksMethod(method: string, target: string): boolean {
    const query = target.indexOf('?')
    const exact = this.#methods.get(query === -1 ? target : target.slice(0, query))
    return exact !== undefined && !exact.handled.has(method)
  }

  /** `target`: of the request line, with or without a query. */
  errorFor(method: string, target: string): RouteError {
    const path = target.split('?')[0]!
    const own = this.#methods.get(path)
    const found = own ? [own] : [...this.#methods.values()].filter(({ pattern }) => pattern.test(path))
    const methods = new Set(found.flatMap((one) => [...one.allowed]))
    const allow = [...methods].sort().join(', ')
    // a route that takes it has found nothing
    if (methods.has(method) || methods.size === 0)
      return { error: new DomainError('NOT_FOUND', `There is nothing at ${method} ${path}.`), allow: null }
    return { error: new DomainError('METHOD_NOT_ALLOWED', `${method} is not allowed here; use ${allow}.`), allow }
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

/** Collects the routes that are added from now on. */
export function knownRoutes(fastify: FastifyInstance): KnownRoutes {
  const known = new KnownRoutes()
  fastify.addHook('onRoute', (route) => known.add(route))
  return known
}
