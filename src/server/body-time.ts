/**
 * How long the body of a request may take to arrive. Node's own limit holds for a whole server, and an upload may
 * take longer than anything else; the time for the headers stays Node's.
 */
import type { FastifyInstance } from 'fastify'
import { refuseUnreadable } from './unreadable.ts'

/** A route whose config says `slowBody` sees to it itself. */
export function limitBodyTime(fastify: FastifyInstance, ms: number): void {
  fastify.addHook('onRequest', async ({ raw, routeOptions }) => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
    if (routeOptions.config.slowBody || (length === '0' && encoding === undefined)) return
    const timer = setTimeout(() => {
      refuseUnreadable(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), raw.socket)
    }, ms)
    const arrived = () => clearTimeout(timer)
    raw.once('end', arrived).once('close', arrived)
  })
}
